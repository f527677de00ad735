import { compileRoutes } from '@sluice/core/http'
import * as fc from 'fast-check'
import { addRoute, createRouter, findRoute } from 'rou3'
import { describe, expect, it, vi } from 'vitest'

const word = fc.constantFrom('a', 'b', 'ab', 'c-d', 'e.f', '0', 'x~y')
const open = fc.constantFrom(':id', ':other')
const part = fc.constantFrom('a:id', ':id\\-b', ':id.f', ':n(\\d+)', '(a|b)')
const segment = fc.oneof(
  { weight: 4, arbitrary: word },
  { weight: 2, arbitrary: open },
  { weight: 1, arbitrary: part },
)
const end = fc.constantFrom('', '', '/**', '/:last?')

/** Names of parameters may stand in a pattern once only. */
const renamed = (pattern: string): string => {
  let count = 0
  return pattern.replace(/:\w+/g, () => `:p${(count += 1)}`)
}

const pattern = fc
  .tuple(fc.array(segment, { maxLength: 4 }), end)
  .map(([segments, last]) => renamed(`/${segments.join('/')}${last}`.replace('//', '/')))

const path = fc
  .array(fc.oneof(word, fc.constantFrom('7', '42', 'xb', 'a1', 'q-b', 'z.f')), { maxLength: 6 })
  .map((segments) => `/${segments.join('/')}`)

describe('a route', () => {
  it('matches the paths that rou3 says, whatever the pattern', () => {
    fc.assert(
      fc.property(pattern, fc.array(path, { minLength: 1, maxLength: 8 }), (route, paths) => {
        const router = createRouter<true>()
        addRoute(router, '', route, true)
        const match = compileRoutes([route])
        for (const each of paths) {
          const ours = match('GET', each) !== undefined
          expect({ route, each, ours }).toEqual({
            route,
            each,
            ours: findRoute(router, '', each) !== undefined,
          })
        }
      }),
      { numRuns: 3_000 },
    )
  })

  it('is the one that rou3 finds among others', () => {
    const simple = fc
      .tuple(fc.array(fc.oneof(word, open), { maxLength: 4 }), fc.constantFrom('', '', '/**'))
      .map(([segments, last]) => renamed(`/${segments.join('/')}${last}`.replace('//', '/')))
    const patterns = fc.uniqueArray(simple, { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(patterns, fc.array(path, { minLength: 1, maxLength: 8 }), (routes, paths) => {
        const router = createRouter<string>()
        for (const route of routes) addRoute(router, '', route, route)
        const match = compileRoutes(routes)
        for (const each of paths) {
          const found = findRoute(router, '', each)?.data
          expect({ routes, each, id: match('GET', each)?.id }).toEqual({ routes, each, id: found })
        }
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('the work to match a pattern', () => {
  it.each(['/**/b', '/a/**/b/:id', '/:x/**/:y', '/a:x', '/**', '/**/:n(\\d+)/b:x'])(
    '%s looks at each segment once, however many there are',
    (route) => {
      const match = compileRoutes([route])
      const test = vi.spyOn(RegExp.prototype, 'test')
      match('GET', `/${Array.from({ length: 4_000 }, () => 'ba').join('/')}`)
      // One more per reading: whether there is anything to decode.
      expect(test.mock.calls.length).toBeLessThanOrEqual(4_001)
      test.mockRestore()
    },
  )

  it.each(['/:a-:b', '/*a*', '/**/x/**', '/:a:b', '/:n(\\d+)-:m(\\d+)'])(
    '%s could look more often, and is refused',
    (route) => {
      expect(() => compileRoutes([route])).toThrow(/at most one/)
    },
  )
})
