/* Draws mutants of the packages by a seed, so that nobody chooses them. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Random } from '../world/random.ts'
import { mutationsOf, type Mutation } from './mutants.ts'

/** The rooms of `packages/core/src` that are mutated, and what vitest runs for the unit suites of each. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  // The work of algorithms on a key is tested with the stores, and that on a settlement with reservations.
  algorithms: [
    'test/core/algorithms/',
    'test/core/policies/',
    'test/core/testing/',
    'test/core/file/',
    'test/core/lua/',
    'test/core/stores/',
    'test/core/reservations/',
    'test/core/waiting/',
    'test/conformance/',
  ],
  leases: ['test/core/leases/', 'test/core/places/', 'test/commands/fewer-trips'],
  limiter: ['test/core/limiter/', 'test/core/configuration/', 'test/core/policies/'],
  reservations: ['test/core/reservations/', 'test/faults/'],
  shards: ['test/core/shards/'],
  stores: ['test/core/stores/', 'test/core/places/', 'test/core/file/', 'test/core/lua/'],
}

export interface Mutant {
  /** The built module, from the root of the checkout. */
  readonly path: string
  readonly mutation: Mutation
  /** The line of the module, and what it says before and after: what identifies the mutant, too. */
  readonly line: number
  readonly before: string
  readonly after: string
}

export const roomOf = (path: string): string => path.split('/')[3] ?? ''

export const idOf = ({ path, line, before, after }: Mutant): string =>
  `${path}:${line} ${before} → ${after}`

const sourceOf = (path: string): string => path.replace('/dist/', '/src/').replace(/\.js$/, '.ts')

/** Draws so many mutants of the rooms. */
export function drawMutants(root: string, seed: number, count: number): Mutant[] {
  const paths = globSync(`packages/core/dist/{${Object.keys(ROOMS).join()}}/**/*.js`, { cwd: root })
  // A build leaves the modules of files that were moved away.
  const built = paths.filter((path) => existsSync(join(root, sourceOf(path))))
  const all = built.toSorted().flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    return mutationsOf(path, text).map((mutation) => mutantOf(path, text, mutation))
  })
  // Each has a place of its own in the draw: a change of one module moves no mutant of another.
  const placed = all.map((mutant, index) => {
    const { path, before, after } = mutant
    return { mutant, index, place: new Random(`${seed} ${path} ${before} ${after}`).next() }
  })
  return placed
    .toSorted((a, b) => a.place - b.place || a.index - b.index)
    .slice(0, count)
    .map(({ mutant }) => mutant)
}

function mutantOf(path: string, text: string, mutation: Mutation): Mutant {
  const { start, end, instead } = mutation
  const from = text.lastIndexOf('\n', start - 1) + 1
  const to = text.indexOf('\n', end)
  return {
    path,
    mutation,
    line: text.slice(0, start).split('\n').length,
    before: text.slice(from, to).trim(),
    after: (text.slice(from, start) + instead + text.slice(end, to)).trim(),
  }
}
