import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Limiter, Policy, Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { parseList, type Parameters } from 'structured-headers'
import { afterAll, afterEach, beforeEach, vi } from 'vitest'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

export const page = read('../../../docs/coming-from.md')
/** The configurations whose lines the tables of the page have. */
export const pairs = read('pairs.md')
const text = page + pairs

/** Midnight, where every window of every clock begins. */
export const START = Date.UTC(2026, 0, 1)

/** A store that does not answer. */
export const BROKEN: Store = {
  check: () => Promise.reject(new Error('down')),
  run: () => Promise.reject(new Error('down')),
  reset: () => Promise.reject(new Error('down')),
}

/** The exports that a block of the pages may have. */
export interface Block {
  readonly policies: readonly Policy[]
  readonly limiter: Limiter
  /** A handler behind the limiter. */
  readonly serve: (request: Request) => Promise<Response>
}

/** The block of `pairs.md` or the page whose first line is a comment with this name, such as `// kong.ts` or `# kong.yaml`. */
export function source(name: string): string {
  const blocks = text.matchAll(/```\w+\n(?:#|\/\/) (\S+)\n([\s\S]*?)```/g)
  for (const [, file, code = ''] of blocks) if (file === name) return code
  throw new Error(`pairs.md has no block ${name}`)
}

let folder: string | undefined
let loaded = 0

/**
 * Runs a TypeScript block of the pages as it stands there, with a store of its own and whatever else the
 * pages take for granted.
 */
export async function block<Exports = Block>(
  name: string,
  globals: Record<string, unknown> = {},
): Promise<Exports> {
  // Inside the workspace, so that the packages are found as a user's would be.
  folder ??= mkdtempSync(fileURLToPath(new URL('blocks-', import.meta.url)))
  // A module is run once, and each test wants a limiter that has not counted yet.
  const file = join(folder, `${name}-${(loaded += 1)}.ts`)
  writeFileSync(file, source(`${name}.ts`))
  const taken = { store: memory(), handle: () => new Response('answer'), ...globals }
  for (const [global, value] of Object.entries(taken)) vi.stubGlobal(global, value)
  return (await import(file)) as Exports
}

/** Removes the files that blocks were run from, and the globals that they took for granted. */
export function cleanUp(): void {
  afterAll(() => {
    vi.unstubAllGlobals()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
    folder = undefined
  })
}

/** `Date` stands still, for both sides, until `at` moves it: the systems beside ours have no clock to inject. */
export function stillClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: START })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
  })
}

/** Moves `Date` to so many milliseconds after `START`, and returns the time. */
export function at(ms: number): number {
  vi.setSystemTime(START + ms)
  return START + ms
}

/** A request as it comes through one trusted proxy. */
export function requestFrom(
  address: string,
  path = '/api/search',
  headers: Record<string, string> = {},
): Request {
  return new Request(`https://app.example${path}`, {
    headers: { 'x-forwarded-for': address, ...headers },
  })
}

/** The parameters of the member of this name in a structured list. */
export function member(header: string | null, name: string): Parameters | undefined {
  return parseList(header ?? '').find(([item]) => item === name)?.[1]
}
