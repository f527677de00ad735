import { dailyCap, fixedWindow, slidingWindow } from '@sluice/core'
import { rateLimitHeaders, type HeaderStyle } from '@sluice/core/http'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MIDNIGHT } from '../../support/times.ts'
import { allowed, denied, setUpAtMidnight, outage, state } from './support.ts'
import { items, expectTruthfulHeaders } from './expect-headers.ts'

const ALL: HeaderStyle[] = ['x-ratelimit', 'draft', 'draft-6', 'openai']

describe('whatever the history', () => {
  const step = fc.record({
    waitMs: fc.integer({ min: 0, max: 90_000 }),
    request: fc.integer({ min: 0, max: 12 }),
    token: fc.integer({ min: 0, max: 1_200 }),
  })

  it('every header parses and agrees with the decision', async () => {
    expect.hasAssertions()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
        const { clock, limiter } = setUpAtMidnight(
          dailyCap({ name: 'daily', limit: 40, per: ['tenant'] }),
          slidingWindow({ name: 'rpm.v2', limit: 10, window: '1m', per: ['tenant', 'route'] }),
          fixedWindow({ name: 'tpm', limit: 1_000, window: 1_500, per: 'global', unit: 'token' }),
        )
        for (const { waitMs, ...cost } of steps) {
          clock.advance(waitMs)
          const decision = await limiter.check({ tenant: 'acme', route: 'chat' }, { cost })
          expectTruthfulHeaders(decision, rateLimitHeaders(decision, ALL))
        }
      }),
      { numRuns: 100, seed: 11 },
    )
  })
})

describe("the draft's own examples", () => {
  it.each([
    ['"burst";q=100;w=60,"daily";q=1000;w=86400', { burst: [100, 60], daily: [1000, 86_400] }],
    ['"default";q=100;w=10', { default: [100, 10] }],
    ['"permin";q=50;w=60,"perhr";q=1000;w=3600', { permin: [50, 60], perhr: [1000, 3600] }],
    ['"hour";q=1000;w=3600, "day";q=5000;w=86400', { hour: [1000, 3600], day: [5000, 86_400] }],
  ])('RateLimit-Policy: %s', (example, policies) => {
    const states = Object.entries(policies).map(([name, [limit = 0, w = 0]]) =>
      state({ name, limit, windowMs: w * 1000 }),
    )
    const header = rateLimitHeaders(allowed(...states), ['draft'])['RateLimit-Policy']
    expect(header).toBe(example.replace(/, ?/, ', '))
    expect(items(header)).toEqual(items(example))
  })

  it.each([
    ['"default";r=50;t=30', 'default', 50, 30],
    ['"default";r=0;t=50', 'default', 0, 50],
    ['"dayLimit";r=100;t=36000', 'dayLimit', 100, 36_000],
    ['"dynamic";r=9;t=50', 'dynamic', 9, 50],
  ])('RateLimit: %s', (example, name, remaining, t) => {
    const decision = allowed(state({ name, remaining, resetMs: t * 1000 }))
    expect(rateLimitHeaders(decision, ['draft'])['RateLimit']).toBe(example)
  })

  it('B.1.3: 40 of 100 a minute, used after two seconds, leave 60 for 58 seconds', async () => {
    const { clock, limiter } = setUpAtMidnight(
      fixedWindow({ name: 'basic', limit: 100, window: '1m', per: 'global' }),
    )
    clock.advance(2_000)
    const headers = rateLimitHeaders(await limiter.check({}, { cost: 40 }), ['draft'])
    expect(headers).toEqual({
      'RateLimit-Policy': '"basic";q=100;w=60',
      RateLimit: '"basic";r=60;t=58',
    })
  })

  it('B.2.1: the first of 100 a minute, ten seconds into the window', async () => {
    const { clock, limiter } = setUpAtMidnight(
      fixedWindow({ name: 'fixedwindow', limit: 100, window: '1m', per: 'global' }),
    )
    clock.advance(10_000)
    expect(rateLimitHeaders(await limiter.check({}), ['draft'])).toEqual({
      'RateLimit-Policy': '"fixedwindow";q=100;w=60',
      RateLimit: '"fixedwindow";r=99;t=50',
    })
  })

  it('B.1.4: a used-up quota has Retry-After for the same moment', () => {
    const spent = state({ name: 'default', resetMs: 5_000, retryAfterMs: 5_000, fits: false })
    expect(rateLimitHeaders(denied(spent), ['draft'])).toMatchObject({
      'Retry-After': '5',
      RateLimit: '"default";r=0;t=5',
    })
  })
})

/** The retry headers of a denial for so long. */
const after = (retryAfterMs: number) =>
  rateLimitHeaders(denied(state({ name: 'rpm', fits: false, retryAfterMs })), [])

describe('the header styles', () => {
  it('openai: reports requests and tokens separately, with a duration until they return', () => {
    const requests = state({ name: 'rpm', limit: 60, remaining: 59, resetMs: 1_000 })
    const tokens = { unit: 'token', limit: 150_000, remaining: 149_984, resetMs: 360_000 }
    expect(
      rateLimitHeaders(allowed(requests, state({ name: 'tpm', ...tokens })), ['openai']),
    ).toEqual({
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-limit-tokens': '150000',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-tokens': '6m0s',
    })
  })

  it.each([
    [0, '0ms'],
    [17, '17ms'],
    [999, '999ms'],
    [1_001, '2s'],
    [59_001, '1m0s'],
    [360_000, '6m0s'],
    [3_600_000, '1h0m0s'],
    [43_082_500, '11h58m3s'],
    [31 * 86_400_000, '744h0m0s'],
  ])('openai: %i ms are %s', (resetMs, duration) => {
    const headers = rateLimitHeaders(allowed(state({ name: 'rpm', resetMs })), ['openai'])
    expect(headers['x-ratelimit-reset-requests']).toBe(duration)
  })

  it('openai: reports the policy of a unit that binds first', () => {
    const daily = state({ name: 'daily', limit: 500, remaining: 3 })
    const rpm = state({ name: 'rpm', limit: 20, remaining: 19 })
    expect(rateLimitHeaders(allowed(daily, rpm), ['openai'])).toMatchObject({
      'x-ratelimit-limit-requests': '500',
      'x-ratelimit-remaining-requests': '3',
    })
  })

  it('x-ratelimit: reports seconds since the epoch, rounded up', () => {
    const headers = rateLimitHeaders(allowed(state({ name: 'rpm', resetMs: 1 })), ['x-ratelimit'])
    expect(headers['X-RateLimit-Reset']).toBe(String(MIDNIGHT / 1000 + 1))
  })

  it.each([
    { styles: ['x-ratelimit'] as const, names: /^x-ratelimit-(limit|remaining|reset|scope)$/i },
    { styles: ['draft'] as const, names: /^ratelimit(-policy)?$/i },
    { styles: ['draft-6'] as const, names: /^RateLimit-(Limit|Remaining|Reset)$/ },
    { styles: ['openai'] as const, names: /^x-ratelimit-\w+-requests$/ },
    { styles: [] as const, names: /^$/ },
  ])('$styles sends exactly its own headers', ({ styles, names }) => {
    for (const name of Object.keys(rateLimitHeaders(allowed(state({ name: 'rpm' })), styles)))
      expect(name).toMatch(names)
  })

  it('keep the retry headers of a denial for an empty list, but not for false', () => {
    const decision = denied(state({ name: 'rpm', fits: false, retryAfterMs: 1_500 }))
    expect(rateLimitHeaders(decision, [])).toEqual({ 'Retry-After': '2', 'retry-after-ms': '1500' })
    expect(rateLimitHeaders(decision, false)).toEqual({})
  })

  it('tell a client to wait out less than a minute, and not to retry after a minute or more', () => {
    expect(after(59_999)).toEqual({ 'Retry-After': '60', 'retry-after-ms': '59999' })
    expect(after(60_000)).toEqual({ 'Retry-After': '60', 'x-should-retry': 'false' })
  })

  it('x-ratelimit: reports the policy that allows the fewest more such requests', () => {
    const requests = state({ name: 'rpm', limit: 20, remaining: 9, cost: 1, scope: 'user' })
    const tokens = state({ name: 'tpm', unit: 'token', remaining: 4_000, cost: 1_000 })
    expect(rateLimitHeaders(allowed(requests, tokens), ['x-ratelimit'])).toMatchObject({
      'X-RateLimit-Remaining': '4000',
      'X-RateLimit-Scope': 'tenant',
    })
  })

  it('give only a retry time for a decision without policies', async () => {
    const headers = { 'Retry-After': '1', 'retry-after-ms': '1000' }
    expect(rateLimitHeaders(await outage(), ALL)).toEqual(headers)
  })

  it('cap numbers at the maximum of structured fields', () => {
    const huge = state({ name: 'rpm', limit: 10 ** 18, remaining: 10 ** 18 })
    const [[, { q }] = ['', {}]] = items(
      rateLimitHeaders(allowed(huge), ['draft'])['RateLimit-Policy'],
    )
    expect(q).toBe(999_999_999_999_999)
  })
})
