/* The paths for which Next.js runs a middleware or proxy. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { attempt } from '@sluice/core/internal/limiter'

/** The function of Next.js that compares a path with a matcher. */
interface NextTesting {
  unstable_doesMiddlewareMatch(options: {
    readonly config: { readonly matcher: readonly string[] }
    readonly url: string
  }): boolean
}

interface Pattern {
  readonly source: string
  /** True if it also depends on headers, cookies or the query, which a client chooses. */
  readonly isConditional: boolean
}

/** Returns the patterns of a `config.matcher` that is written out; `undefined` if it is not. */
export function patternsOf(matcher: unknown): Pattern[] | undefined {
  if (matcher === undefined) return undefined
  const list: unknown[] = Array.isArray(matcher) ? matcher : [matcher]
  const patterns = list.map((item) => {
    const { source, has, missing } = Object(item) as Record<string, unknown>
    const isConditional = has !== undefined || missing !== undefined
    return { source: typeof item === 'string' ? item : source, isConditional }
  })
  return patterns.every(({ source }) => typeof source === 'string')
    ? (patterns as Pattern[])
    : undefined
}

/**
 * Returns a function that finds whether Next.js runs a middleware for a path, by the Next.js that a file imports:
 * https://nextjs.org/docs/app/api-reference/file-conventions/proxy#matcher. Returns `undefined` if this version of
 * Next.js does not tell.
 */
export function runsFor(
  importer: string,
  patterns: readonly Pattern[],
): ((path: string) => boolean) | undefined {
  const matcher = patterns.map(({ source }) => source)
  const next = loadNext(importer)
  if (!next) return undefined
  return (url) =>
    matcher.length > 0 && next.unstable_doesMiddlewareMatch({ config: { matcher }, url })
}

function loadNext(importer: string): NextTesting | undefined {
  // Next.js reads this global when it is loaded.
  Object.assign(globalThis, { AsyncLocalStorage })
  // Not installed, or before 15.1.
  const load = (): unknown => createRequire(importer)('next/experimental/testing/server.js')
  return attempt(load, undefined) as NextTesting | undefined
}
