import { ConfigError } from '@sluice/core'
import { compileRoutes } from '@sluice/core/http'
import { defineManifest } from '@sluice/core/manifest'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ROUTERS, type Compile } from './routers.ts'

/** Paths below and beside `/a`, with the texts that the patterns below tell apart. */
const TEXTS = ['a', 'b', 'ab', 'a-b', 'x-y', '7', 'x.json', 'sub']
const PATHS = [
  '/',
  ...TEXTS.map((text) => `/${text}`),
  ...TEXTS.map((text) => `/a/${text}`),
  ...TEXTS.flatMap((text) => TEXTS.map((other) => `/a/${text}/${other}`)),
  '/a/b/c/d',
  '/a/b/sub/d/sub',
]

const [next, express, rou3, hono] = [
  'Next.js (path-to-regexp 6)',
  'Express 5 (path-to-regexp 8)',
  'rou3',
  'Hono',
] as const

/** Patterns with the meaning that they have in a router. */
const MEANINGS: readonly (readonly [pattern: string, router: string])[] = [
  ['/a/(.*)', next],
  ['/a/:path(.*)', next],
  ['/a/:path*', next],
  ['/a/:path+', next],
  ['/a/(.+)', next],
  ['/a/:path(.+)', next],
  ['/a/:path*/sub', next],
  ['/a/:path+/sub', next],
  ['/:path*', next],
  ['/(.*)', next],
  ['/a/:id', next],
  ['/a/:id?', next],
  ['/a/:id?/sub', next],
  ['/a/:id(\\d+)', next],
  ['/a/:id(\\d+)?', next],
  ['/a/:id(\\d{1,3})', next],
  ['/a/:id([a-z0-9-]+)', next],
  ['/a/(b|ab)', next],
  ['/a/{b}?', next],
  ['/a/a{b}?', next],
  ['/a/:id\\-b', next],
  ['/a/:id.json', next],
  ['/a/{:id}?', next],
  ['/a/*path', express],
  ['/a/{*path}', express],
  ['/a/*path/sub', express],
  ['/a/:id', express],
  ['/a/**', rou3],
  ['/a/**:path', rou3],
  ['/a/**:path/sub', rou3],
  ['/a/**/sub', rou3],
  ['/a/*', rou3],
  ['/a/:path+', rou3],
  ['/a/:path*', rou3],
  ['/a/:path(.*)', rou3],
  ['/a/*', hono],
  ['/a/:id?', hono],
  ['/a/:id', hono],
]

/** Patterns that mean something else, or nothing, to a part of the routers, each with the remedy. */
const REFUSED: readonly (readonly [pattern: string, remedy: string])[] = [
  ['/a/[id]', ':id'],
  ['/a/[...slug]', '**'],
  ['/a/[[...slug]]', '**'],
  ['/(group)/a', '(a|b)'],
  ['/a/:id{[0-9]+}', ':id(\\d+)'],
  ['/a/:id{\\d+}', ':id(\\d+)'],
  ['/a/:id{.+}', '**'],
  ['/a/:file{.json}?', '":id(\\d+)"'],
  ['/a/{id}', ':id'],
  ['/a/b{c}', '{text}?'],
  ['/a{/:id}', ':id?'],
  ['/a{/:id}?', ':id?'],
  ['/a{/*path}', '**'],
  ['/a/*/sub', ':id'],
  ['/a/b*', '**'],
  ['/a/*.json', ':id'],
  ['/a/b+', 'other signs with "\\"'],
  ['/a/b?', '{text}?'],
  ['/a/(b|c)+', '**'],
  ['/a/(b|c)*', '**'],
  ['/a/(b|c)?', ':id?'],
  ['/a/:id(\\d+)+', '**'],
  ['/a/:id(\\d*)', ':id(\\d+)'],
  ['/a/:id([^/]+)', ':id'],
  ['/a/:id([^-]+)', ':id(\\d+)'],
  ['/a/:id(.+\\.json)', '**'],
  ['/a/b(.*)', '**'],
  ['/(a|b)(.*)', '**'],
  ['/((?!a|b).*)', '**'],
  ['/a/:id-b', ':id\\-text'],
  ['/a/:x-:y', 'at most one'],
  ['/a/:path*/:rest*', 'one "**"'],
  ['/a/**b', '**'],
  ['/a#b', '#'],
]

const limited = (pattern: string): ((path: string) => boolean) => {
  const match = compileRoutes([pattern])
  return (path) => match('GET', path) !== undefined
}

describe('a pattern', () => {
  it.each(MEANINGS)('%s matches the paths that it matches in %s', (pattern, router) => {
    const serves = (ROUTERS[router] as Compile)(pattern)
    const isLimited = limited(pattern)
    // Here, a path is the same with a slash at its end.
    const differences = PATHS.filter(
      (path) => isLimited(path) !== (serves(path) || serves(`${path}/`)),
    )
    expect(differences).toEqual([])
  })

  it.each(REFUSED)('%s is refused, with the remedy %s', (pattern, remedy) => {
    const error = thrownBy(() => compileRoutes([pattern]))
    expect(error).toMatchObject({ code: 'invalid_option', option: 'routes[0].path' })
    expect((error as ConfigError).reason).toContain(remedy)
  })

  const listed = [...new Set([...MEANINGS, ...REFUSED].map(([pattern]) => pattern))]
  const pairs = Object.keys(ROUTERS).flatMap((router) => listed.map((form) => [form, router]))
  it.each(pairs)('%s is refused, or limits what it serves in %s', (pattern, router) => {
    expect(unlimitedPaths(pattern, ROUTERS[router ?? ''] as Compile)).toEqual([])
  })

  it('is refused, or limits what it serves in every router, whatever it is made of', () => {
    const sign = fc.constantFrom(...'/ab7?*+(){}[]|-'.split(''))
    const forms = '/ /:x :y ** (.*) (\\d+) (a|b) {b}? x.json *z {*w} {[0-9]+}'.split(' ')
    const form = fc.constantFrom(...forms)
    const parts = fc.array(fc.oneof(sign, form, fc.constant('/')), { maxLength: 6 })
    fc.assert(
      fc.property(parts, (list) => {
        const pattern = `/a${list.join('')}`
        for (const [router, compile] of Object.entries(ROUTERS)) {
          expect({ pattern, router, paths: unlimitedPaths(pattern, compile) }).toEqual({
            pattern,
            router,
            paths: [],
          })
        }
      }),
      { numRuns: 5_000 },
    )
  })

  it.each(['/a/[id]', '/a/:id{[0-9]+}', '/a/b(.*)'])('%s is refused in a manifest', (path) => {
    expect(thrownBy(() => defineManifest({ routes: [{ path, rpm: 1 }] }))).toMatchObject({
      option: 'manifest.routes[0].path',
    })
  })
})

/** Lists the paths that a router serves for a pattern, and that the same pattern as a route does not limit. */
function unlimitedPaths(pattern: string, compile: Compile): string[] {
  let isLimited: (path: string) => boolean
  try {
    isLimited = limited(pattern)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return []
  }
  let serves: (path: string) => boolean
  try {
    serves = compile(pattern)
  } catch {
    return []
  }
  return PATHS.filter((path) => serves(path) && !isLimited(path))
}

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}
