import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { World } from './world.ts'

const SEEDS = [7, 8, 9]
const DECISIONS = 200

const here = fileURLToPath(new URL('.', import.meta.url))
/** The command as JavaScript: Node 20 reads no TypeScript. */
const bundled = join(here, `world-${process.pid}.mjs`)

beforeAll(() =>
  build({
    entryPoints: [join(here, 'main.ts')],
    bundle: true,
    outfile: bundled,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    // Bundled modules may not take each other for the command.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url)',
    },
  }),
)
afterAll(() => rm(bundled, { force: true }))

/** Every Node on the PATH, beside the one that runs the tests. */
function nodes(): string[] {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .filter((path) => existsSync(path))
  return [...new Set([process.execPath, ...found])]
}

/** Returns what a process says of each seed. */
async function digests(node: string): Promise<string[]> {
  const seeds = ['--seed', `${SEEDS[0]}`, '--seeds', `${SEEDS.length}`, '--workers', '1']
  const args = [bundled, ...seeds, '--decisions', `${DECISIONS}`]
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  for await (const chunk of child.stdout) output += String(chunk)
  const found = [...output.matchAll(/, ([0-9a-f]{12}), 0 violations/g)].map(([, digest]) => digest)
  return found.length === SEEDS.length ? (found as string[]) : [output]
}

it('has the same history, to the byte, in every process and on every Node, idle and loaded', async () => {
  const expected: string[] = []
  for (const seed of SEEDS) {
    const { digest } = await World.run(seed, { decisions: DECISIONS })
    expected.push(digest.slice(0, 12))
  }
  // Two loops that never wait, beside the processes that run the worlds. They end by themselves, should this test not.
  const loop = 'const end = Date.now() + 120_000; while (Date.now() < end);'
  const busy = [1, 2].map(() => spawn(process.execPath, ['-e', loop], { stdio: 'ignore' }))
  try {
    for (const node of nodes()) {
      expect({ node, digests: await digests(node) }).toEqual({ node, digests: expected })
    }
  } finally {
    for (const child of busy) child.kill('SIGKILL')
  }
}, 400_000)

it('has another history for another seed', async () => {
  const outcomes = await Promise.all([7, 8].map((seed) => World.run(seed, { decisions: 50 })))
  expect(outcomes[0]?.digest).not.toBe(outcomes[1]?.digest)
})
