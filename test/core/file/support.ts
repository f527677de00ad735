import { createLimiter, dailyCap, type Limiter } from '@sluice/core'
import { file } from '@sluice/core/file'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterAll } from 'vitest'
import { ACME, collectProblems } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

/** Returns folders that do not exist yet. They are removed after the tests of a file. */
export function ownFolders(): () => string {
  const parent = mkdtempSync(join(tmpdir(), 'sluice-'))
  afterAll(() => rmSync(parent, { recursive: true, force: true }))
  let made = 0
  return () => join(parent, `${(made += 1)}`, '.sluice')
}

const CHILD = fileURLToPath(new URL('flood.js', import.meta.url))

/** Starts a process that checks `tenant` without end, and prints a line for each that is allowed. */
export const startFlood = (folder: string): ChildProcess =>
  spawn(process.execPath, [CHILD, folder], { stdio: ['ignore', 'pipe', 'inherit'] })

/** Kills a process once it has printed so many lines. Returns the number of those that it had printed by its end. */
export async function killAfter(child: ChildProcess, lines: number): Promise<number> {
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part
    if (text.split('\n').length > lines) child.kill('SIGKILL')
  })
  await once(child, 'close')
  return text.split('\n').filter((line) => line === 'allowed').length
}

interface Folders {
  readonly byPath: Map<string, { close(): void }>
  isNoted: boolean
}

/** Ends what this process knows of its folders, as its end would. */
export function restart({ isNoted = true } = {}): void {
  const holder = globalThis as { [name: symbol]: Folders | undefined }
  const folders = holder[Symbol.for('@sluice/core/file')]
  if (!folders) return
  for (const folder of folders.byPath.values()) folder.close()
  folders.byPath.clear()
  folders.isNoted = isNoted
}

/** A limiter of so many requests a day, by a clock that stands. */
export function capped(folder: string, limit = 5) {
  const { problems, listener } = collectProblems()
  const limiter = createLimiter({
    store: file(folder),
    policies: [dailyCap({ name: 'daily', limit, per: ['tenant'] })],
    extensions: [listener],
    onStoreError: 'deny',
    clock: () => NOON,
  })
  return { limiter, problems }
}

export const remaining = async (limiter: Limiter): Promise<number | undefined> =>
  (await limiter.peek(ACME)).policies[0]?.remaining

/** Makes so many checks at once, and returns how many are allowed. */
export async function allowedOf(
  { limiter }: { limiter: Limiter },
  checks: number,
): Promise<number> {
  const decisions = await Promise.all(Array.from({ length: checks }, () => limiter.check(ACME)))
  return decisions.filter(({ allowed }) => allowed).length
}

export const linesOf = (folder: string): string[] =>
  readFileSync(join(folder, 'counts.jsonl'), 'utf8').split('\n').slice(0, -1)
