/* Tells who notices a mutant: the tests of its room, the simulated world, or else the proofs of its room. */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SuiteName } from '../suites.ts'
import { copyCheckout } from './copy.ts'
import { ROOMS, roomOf, type Mutant } from './draw.ts'

/** The judges of a mutant, in the order in which they are asked. */
export type Judge = 'room' | 'world' | 'proofs' | 'nobody'

export interface Verdict {
  readonly judge: Judge
  /** The first test that failed, or what the world or the command said. */
  readonly because: string
}

/** A test that compares texts of scripts would notice every change of one, and prove nothing. */
const COMPARES_TEXTS = 'test/core/lua/readme-script.test.ts'

/** How long the world looks for a violation, in seconds. */
const WORLD_SECONDS = 20

/** How long a command may take, in milliseconds: a mutant that never ends is noticed. */
const LONGEST_MS = 300_000

/** A copy of the checkout in which one mutant after another is judged. */
export class Bench {
  readonly #folder: string
  /** Ends what runs in it. */
  #end: () => void = () => {}

  constructor(root: string) {
    this.#folder = copyCheckout(root)
    rmSync(join(this.#folder, COMPARES_TEXTS))
  }

  close(): void {
    this.#end()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Judges what is not changed: a test that fails by itself would notice every mutant. */
  judgeNothing(): Promise<Verdict> {
    return this.#judge(Object.values(ROOMS).flat())
  }

  async judge(mutant: Mutant): Promise<Verdict> {
    const path = join(this.#folder, mutant.path)
    const original = readFileSync(path, 'utf8')
    const { start, end, instead } = mutant.mutation
    writeFileSync(path, original.slice(0, start) + instead + original.slice(end))
    try {
      return await this.#judge(ROOMS[roomOf(mutant.path)] ?? [])
    } finally {
      writeFileSync(path, original)
    }
  }

  async #judge(suites: readonly string[]): Promise<Verdict> {
    const inRoom = await this.#test(suites)
    if (inRoom !== undefined) return { judge: 'room', because: inRoom }
    const world = await this.#run('node', ['test/mutation/look.ts', `${WORLD_SECONDS}`])
    if (world !== undefined) return { judge: 'world', because: world }
    const inProofs = await this.#test(suites, 'proofs')
    if (inProofs !== undefined) return { judge: 'proofs', because: inProofs }
    return { judge: 'nobody', because: '' }
  }

  /** Runs tests up to the first that fails, and returns its name. */
  async #test(args: readonly string[], suite?: SuiteName): Promise<string | undefined> {
    const results = join(this.#folder, 'results.json')
    rmSync(results, { force: true })
    // A room may have no proofs.
    const flags = [
      '--passWithNoTests',
      '--bail',
      '1',
      '--maxWorkers',
      '1',
      '--reporter=json',
      `--outputFile=${results}`,
    ]
    const said = await this.#run('vitest', ['run', ...flags, ...args], suite)
    return said === undefined ? undefined : (firstFailed(results) ?? said)
  }

  /** Runs a command, and returns what it said last if it failed. */
  #run(command: string, args: readonly string[], suite?: SuiteName): Promise<string | undefined> {
    const env = { ...process.env, TEST_SUITE: suite }
    const child = spawn(join('node_modules/.bin', command), args, {
      cwd: this.#folder,
      // A group of its own, so that whatever it has started ends with it.
      detached: true,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => {
        said = `${said}${data.toString()}`.slice(-2_000)
      })
    }
    let isLate = false
    this.#end = () => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    const timer = setTimeout(() => {
      isLate = true
      this.#end()
    }, LONGEST_MS)
    return new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('exit', (code) => {
        clearTimeout(timer)
        this.#end()
        if (isLate) resolve(`no end after ${LONGEST_MS / 1_000} s`)
        else resolve(code === 0 ? undefined : (said.trim().split('\n').at(-1) ?? `code ${code}`))
      })
    })
  }
}

interface Results {
  readonly testResults: readonly {
    readonly name: string
    readonly message: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

function firstFailed(results: string): string | undefined {
  let files: Results['testResults']
  try {
    files = (JSON.parse(readFileSync(results, 'utf8')) as Results).testResults
  } catch {
    return undefined
  }
  for (const { name, message, assertionResults } of files) {
    const file = name.slice(name.indexOf('/test/') + 1)
    const failed = assertionResults.find(({ status }) => status === 'failed')
    if (failed) return `${file}: ${failed.fullName}`
    if (message) return `${file}: ${message.split('\n')[0]}`
  }
  return undefined
}
