import * as fc from 'fast-check'
import { compileRoutes, rateLimit } from '@sluice/core/http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { decodePath } from '../../../packages/core/src/routes/readings.ts'
import { routePath } from '../../../packages/next/src/route-path.ts'
import { app, perMinute } from '../http/support.ts'

afterEach(() => vi.restoreAllMocks())

/** Decoding as simple as can be, with an exception for each run of escapes that is not UTF-8. */
function decodedSimply(pathname: string): string {
  let path = pathname
  for (let layer = 0; layer < 3; layer += 1) {
    path = path.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => {
      try {
        return decodeURIComponent(bytes)
      } catch {
        return bytes.replace(/%[0-7][\da-f]/gi, (escape) => decodeURIComponent(escape))
      }
    })
  }
  return path
}

/** Counts the calls that decode, match or replace. */
function countWork(act: () => unknown): number {
  const spies = [
    vi.spyOn(globalThis, 'decodeURIComponent'),
    vi.spyOn(RegExp.prototype, 'test'),
    vi.spyOn(RegExp.prototype, 'exec'),
    vi.spyOn(String.prototype, 'replace'),
  ]
  act()
  const calls = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  for (const spy of spies) spy.mockRestore()
  return calls
}

const escapeOf = (byte: number) => `%${byte.toString(16).padStart(2, '0')}`

describe('decoding a path', () => {
  const byte = fc.integer({ min: 0, max: 255 }).map(escapeOf)
  const lead = fc.constantFrom('%c3', '%E2', '%ed', '%e0', '%f0', '%F4', '%f5', '%c0', '%c1')
  const next = fc.constantFrom('%80', '%8F', '%90', '%9f', '%a0', '%bf', '%BF')
  const text = fc.constantFrom(
    '%',
    '%25',
    '%2525',
    '%2',
    'ff',
    'x',
    '/',
    '%zz',
    '%2F',
    '\ud800',
    'é',
  )
  const encoded = fc.string({ unit: 'grapheme' }).map((s) => encodeURIComponent(s.toWellFormed()))

  it('equals decoding with an exception for each invalid run, for any path', () => {
    const path = fc.array(fc.oneof(byte, lead, next, text, encoded)).map((parts) => parts.join(''))
    fc.assert(
      fc.property(path, (given) => {
        expect(decodePath(given)).toBe(decodedSimply(given))
      }),
      { numRuns: 2_000 },
    )
  })

  it('equals it for every sequence of two bytes, and every start of one of three or four', () => {
    const different = []
    for (let first = 0; first < 256; first += 1) {
      for (let second = 0; second < 256; second += 1) {
        for (const end of ['', '%80', '%80%bf', '%c0']) {
          const path = escapeOf(first) + escapeOf(second) + end
          if (decodePath(path) !== decodedSimply(path)) different.push(path)
        }
      }
    }
    expect(different).toEqual([])
  })

  it('throws and catches nothing, whatever the path contains', () => {
    const decode = vi.spyOn(globalThis, 'decodeURIComponent')
    const match = compileRoutes(['/api/ai/**'])
    expect(match('GET', `/api/ai/${'x%ff'.repeat(3_900)}`)).toBeDefined()
    expect(match('GET', `/api/ai/${'%c3%28'.repeat(2_500)}`)).toBeDefined()
    expect(decode.mock.results.filter(({ type }) => type === 'throw')).toEqual([])
  })
})

describe('the work to match a path', () => {
  const match = compileRoutes(['/api/ai/**', '/api/models/:model', '/x'])
  it.each(['x%ff', '%ff', '%41', '%2f', '/', '/%2e%2e', ';x', '%25', '\\', '.segments/', 'é'])(
    'grows in proportion to its length with %s repeated',
    (piece) => {
      const path = (length: number) => `/api/ai/${piece.repeat(Math.floor(length / piece.length))}`
      const [short, long] = [1_000, 8_000].map((length) =>
        countWork(() => match('GET', path(length))),
      )
      expect(long).toBeLessThanOrEqual(9 * (short ?? 0))
    },
  )
})

describe("a path of Next.js' data", () => {
  it.each([
    ['/a.rsc', '/a'],
    ['/a.prefetch.rsc', '/a'],
    ['/a.segments/b/c.segment.rsc', '/a'],
    ['/a.segments/b.segments/c.rsc', '/a'],
    ['/a.segments/.rsc', '/a'],
    ['/a.segments.rsc', '/a.segments'],
    ['/a.segments/b', '/a.segments/b'],
    ['/_next/data/build/a.json', '/a'],
    ['/.rsc', '/'],
  ])('%s is one of %s', (path, route) => {
    expect(routePath(path, [])).toBe(route)
  })

  it('is read without a regular expression that starts again at each `.segments/`', () => {
    const ran = vi.spyOn(RegExp.prototype, Symbol.replace)
    routePath('/api/ai/' + '.segments/'.repeat(6_000), [])
    const patterns = ran.mock.contexts.map((regexp) => (regexp as RegExp).source)
    expect(patterns.filter((source) => !/^\^|^[^*+]*$/.test(source))).toEqual([])
  })
})

describe('a path that is longer than any platform takes', () => {
  const path = `/api/ai/${'a'.repeat(16_384)}`

  it('is refused with 414, and not read', async () => {
    const handle = vi.fn<() => Response>(() => new Response())
    const decode = vi.spyOn(globalThis, 'decodeURIComponent')
    const answer = await app(perMinute(1), {}, handle)({}, {}, `${path}%41`)
    expect(answer.status).toBe(414)
    expect(await answer.json()).toMatchObject({ error: 'path_too_long' })
    expect(handle).not.toHaveBeenCalled()
    expect(decode).not.toHaveBeenCalled()
  })

  it('is refused before the subject is resolved or charged', async () => {
    const subject = vi.fn<() => null>(() => null)
    const fetch = rateLimit(perMinute(1), { routes: ['/x'], subject }, () => new Response())
    expect((await fetch(new Request(`https://app.example${path}`))).status).toBe(414)
    expect(subject).not.toHaveBeenCalled()
  })

  it('of 16,384 characters is read', async () => {
    const answer = await app(perMinute(1))({}, {}, path.slice(0, 16_384))
    expect(answer.status).toBe(200)
  })
})
