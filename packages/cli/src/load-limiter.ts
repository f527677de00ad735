import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { definitionOf, type Limiter } from '@sluice/core'
import { attempt } from '@sluice/core/internal/limiter'
import { createJiti } from 'jiti'
import { refuse } from './errors.ts'
import { frameworkModules } from './framework-modules.ts'
import { limiterOption } from './wording.ts'

/** The places of a file of limits in the usual projects. */
const FOLDERS = ['', 'src/', 'lib/', 'src/lib/', 'app/', 'server/']
const NAMES = ['limits.ts', 'limits.mts', 'limits.js', 'limits.mjs']
/** The places of a Worker, which may have its limiter in itself. */
const WORKERS = ['worker.ts', 'src/worker.ts', 'src/index.ts']

export interface LoadedLimiter {
  readonly limiter: Limiter
  /** The path as it was given or found. */
  readonly file: string
  /** The name of the export. */
  readonly name: string
  /** All that the file exports. */
  readonly exported: Readonly<Record<string, unknown>>
}

/**
 * Loads a limiter from the file that exports it. TypeScript is loaded on each version of Node.js.
 *
 * @param path The file. @default the first that exists of the usual ones
 * @param name The export. @default `limiter`, or the only limiter that the file exports
 * @throws CommandError When there is no file, it does not load, or it does not export one limiter.
 */
export async function loadLimiter(
  folder: string,
  path: string | undefined,
  name: string | undefined,
): Promise<LoadedLimiter> {
  const { file, exported } = await loadLimits(folder, path)
  const limiters = Object.entries(exported).filter(([, value]) => isLimiter(value))
  const named = limiters.find(([export_]) => export_ === (name ?? 'limiter'))
  const isOne = new Set(limiters.map(([, value]) => value)).size === 1
  const chosen = named ?? (name === undefined && isOne ? limiters[0] : undefined)
  if (chosen) return { limiter: chosen[1] as Limiter, file, name: chosen[0], exported }
  return refuse(whyNone(file, exported, limiters, name))
}

/**
 * Loads the file of limits of a project.
 *
 * @param path The file. @default the first that exists of the usual ones
 * @param option The option that names it, for errors.
 * @throws CommandError When the file does not exist, or does not load.
 */
export async function loadLimits(
  folder: string,
  path: string | undefined,
  option = '--limits',
): Promise<{ file: string; exported: Readonly<Record<string, unknown>> }> {
  const file = path || findLimits(folder)
  const absolute = resolve(folder, file)
  if (existsSync(absolute)) return { file, exported: await importFile(file, absolute) }
  return refuse(`there is no file ${file}. Name another: ${limiterOption(`${option} FILE`)}`)
}

function findLimits(folder: string): string {
  const paths = FOLDERS.flatMap((each) => NAMES.map((name) => each + name))
  const found =
    paths.find((path) => existsSync(join(folder, path))) ??
    WORKERS.find((path) => hasLimiter(join(folder, path)))
  if (found !== undefined) return found
  return refuse(
    `found no file of limits in ${folder}. Looked for limits.ts, also in src, lib, app and server, and for a Worker that exports one. Name it: ${limiterOption('--limits FILE')}`,
  )
}

const hasLimiter = (path: string): boolean =>
  existsSync(path) &&
  /^export (?:const|let) \w+ = createLimiter\(/m.test(readFileSync(path, 'utf8'))

async function importFile(file: string, absolute: string): Promise<Record<string, unknown>> {
  // Loads on Node.js 20, too, imports without an extension, and reads no cache that another version has written.
  const jiti = createJiti(absolute, {
    fsCache: false,
    moduleCache: true,
    tsconfigPaths: true,
    virtualModules: await frameworkModules(),
  })
  try {
    return await Promise.race([
      jiti.import<Record<string, unknown>>(absolute).then(allOf),
      failAfter(MAX_LOAD_MS),
    ])
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    const [, hint] = HINTS.find(([part]) => part.test(reason)) ?? []
    return refuse(`${file} does not load: ${reason}${hint?.() ?? ''}`)
  }
}

/** The longest that a file may take to load: one that connects to a database may never end. */
const MAX_LOAD_MS = 20_000

async function failAfter(ms: number): Promise<never> {
  await new Promise((done) => setTimeout(done, ms).unref())
  throw new Error(`it has not loaded within ${ms / 1_000} seconds`)
}

/** Returns the exports of a module, of which some may be promises. */
async function allOf(
  exported: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const values = Object.entries(exported).map(async ([name, value]) => [name, await value] as const)
  return Object.fromEntries(await Promise.all(values))
}

/** Remedies, by a part of the error. */
const HINTS: readonly (readonly [part: RegExp, hint: () => string])[] = [
  [
    // A cluster client of node-redis waits for a node that is down without an end.
    /has not loaded within/,
    () =>
      '. It waits for something, such as a node of a cluster that is down: connect without waiting, as in client.connect().catch(() => {}), and run sluice doctor',
  ],
  [
    /durableObjects\.namespace/,
    () =>
      '. Here, the objects are reached by the operatorHandler of your Worker: set SLUICE_OBJECTS_URL and SLUICE_OBJECTS_TOKEN, and SLUICE_OBJECTS_BINDING if it is not LIMITS',
  ],
  [
    // Modules that only a framework has.
    /Client Component|cloudflare:|\$env|\$app|\$lib|astro:/,
    () =>
      `. A terminal has no modules of a framework: export a limiter over the same database from a file of its own, and name it: ${limiterOption('--limits FILE')}`,
  ],
]

const isLimiter = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && attempt(() => !!definitionOf(value), false)

function whyNone(
  file: string,
  exported: Readonly<Record<string, unknown>>,
  limiters: readonly (readonly [name: string, value: unknown])[],
  name: string | undefined,
): string {
  const names = limiters.map(([each]) => each).join(', ')
  if (limiters.length > 0 && name !== undefined) {
    return `${file} exports no limiter "${name}", but ${names}`
  }
  if (limiters.length > 0) {
    return `${file} exports several limiters: ${names}. Name one: ${limiterOption(`--limiter ${limiters[0]?.[0]}`)}`
  }
  const functions = Object.entries(exported).filter(([, value]) => typeof value === 'function')
  if (functions.length > 0) {
    return `${file} exports no limiter, but functions: ${functions.map(([each]) => each).join(', ')}. A limiter that is made for each env cannot be loaded: export const limiter, with env of cloudflare:workers`
  }
  return `${file} exports no limiter: export const limiter = createLimiter({ … }). It exports ${Object.keys(exported).join(', ') || 'nothing'}`
}
