/* The paths for which Next.js runs a middleware or proxy. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { literal, propertyOf } from '../source/literal.ts'
import type { SourceModule } from '../source/module.ts'
import type { ProjectSource } from '../source/project-source.ts'

/** The function of Next.js that compares a path with a matcher. */
interface NextTesting {
  unstable_doesMiddlewareMatch(options: {
    readonly config: { readonly matcher: readonly string[] }
    readonly url: string
  }): boolean
}

/**
 * Returns a function that finds whether the middleware of a file may run for a path, by the project's own Next.js:
 * https://nextjs.org/docs/app/api-reference/file-conventions/proxy#matcher. Returns `undefined` if `config.matcher` is
 * not written out, or this version of Next.js does not tell.
 */
export function middlewareMatcher(
  source: ProjectSource,
  module: SourceModule,
): ((path: string) => boolean) | undefined {
  const config = module.constants.get('config')
  if (!module.exports.has('config') || !config) return undefined
  const { node } = propertyOf(config, 'matcher')
  const matcher = node && sourcesOf(literal(source, module, node))
  const next = matcher && loadNext(source.folder)
  if (!next) return undefined
  return (path) =>
    matcher.length > 0 && next.unstable_doesMiddlewareMatch({ config: { matcher }, url: path })
}

/** Returns the patterns of a matcher, without the headers and cookies on which they depend. */
function sourcesOf(matcher: unknown): string[] | undefined {
  if (matcher === undefined) return undefined
  const list: unknown[] = Array.isArray(matcher) ? matcher : [matcher]
  const sources = list.map((item) =>
    typeof item === 'string' ? item : (item as { source?: unknown }).source,
  )
  return sources.every((item) => typeof item === 'string') ? sources : undefined
}

function loadNext(folder: string): NextTesting | undefined {
  // Next.js reads this global when it is loaded.
  Object.assign(globalThis, { AsyncLocalStorage })
  try {
    const load = createRequire(join(folder, 'package.json'))
    return load('next/experimental/testing/server.js') as NextTesting
  } catch {
    // Not installed, or before 15.1.
    return undefined
  }
}
