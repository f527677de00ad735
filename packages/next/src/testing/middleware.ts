import type * as NextTesting from 'next/experimental/testing/server.js'
import type { Project } from './project.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { literal, propertyOf } from './literal.ts'
import { moduleOf, type Module } from './module.ts'
import { exportOf, reaches } from './origin.ts'

/** Returns the reason for which the middleware does not run `rateLimit` for a path; `undefined` if it does. */
export type GapFinder = (path: string) => string | undefined

/** Reads the project's `middleware` or `proxy` and its `config.matcher`. */
export function middlewareGap(project: Project): GapFinder {
  const { root, folder, extensions } = project
  for (const name of ['proxy', 'middleware']) {
    const file = extensions
      .map((extension) => join(folder, `${name}.${extension}`))
      .find((path) => existsSync(path))
    if (file === undefined) continue
    const module = moduleOf(file, root)
    const run = exportOf(module, name) ?? exportOf(module, 'default')
    if (!run || !reaches('rateLimit', run)) return () => `${file} does not call rateLimit`
    const covers = matcherOf(module)
    return (path) =>
      covers(path) ? undefined : `config.matcher of ${file} does not take every request to it`
  }
  return () => `there is no middleware or proxy in ${folder}`
}

function matcherOf(module: Module): (path: string) => boolean {
  if (!module.exports.has('config')) return () => true
  const config = module.constants.get('config')
  if (config?.type === 'ObjectExpression' || (config && propertyOf(config, 'matcher'))) {
    const matcher = propertyOf(config, 'matcher')
    if (matcher === undefined && !hasSpread(config)) return () => true
    const matchers = matcher && sourcesOf(literal(matcher))
    if (matchers) return (path) => matchers.length > 0 && runsFor(matchers, path)
  }
  throw new Error(`${module.file}: config.matcher must be a literal, as Next.js requires`)
}

function hasSpread(node: object): boolean {
  const { properties = [] } = node as { properties?: readonly { readonly type: string }[] }
  return properties.some(({ type }) => type !== 'ObjectProperty')
}

/** Returns the patterns for which the middleware runs, whatever the request's headers are. */
function sourcesOf(matcher: unknown): string[] | undefined {
  if (matcher === undefined) return undefined
  const list: unknown[] = Array.isArray(matcher) ? matcher : [matcher]
  const sources = list.flatMap((item) => {
    if (typeof item === 'string') return [item]
    const { source, has, missing } = Object(item) as Record<string, unknown>
    // A client chooses what `has` and `missing` look at.
    return has !== undefined || missing !== undefined ? [] : [source]
  })
  return sources.every(isSource) ? sources : undefined
}

function isSource(source: unknown): source is string {
  return typeof source === 'string' && source.startsWith('/')
}

let testing: typeof NextTesting | undefined

/** Returns true if Next.js runs the middleware for a URL, by its own function. */
function runsFor(matcher: string[], url: string): boolean {
  if (testing === undefined) {
    // Next.js reads this global when it is loaded.
    Object.assign(globalThis, { AsyncLocalStorage })
    testing = createRequire(import.meta.url)(
      'next/experimental/testing/server.js',
    ) as typeof NextTesting
  }
  return testing.unstable_doesMiddlewareMatch({ config: { matcher }, url })
}
