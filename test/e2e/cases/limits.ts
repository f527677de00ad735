import { expect } from 'vitest'
import { burst, newTenant, withinOneDay } from '../support/target.ts'
import { limitHeaders, type Case } from './case.ts'

const ROUTES = ['evaluate', 'generate-questions', 'feedback', 'probe'] as const

export const limits: readonly Case[] = [
  {
    claim: 'denies exactly 5 of 25 requests sent at once to a limit of 20, every time',
    async check(target) {
      for (let repetition = 0; repetition < 10; repetition += 1) {
        const send = await newTenant(target)
        const asked = target.upstream.requests.length
        expect(await burst(25, () => send())).toEqual({ 200: 20, 429: 5 })
        expect(target.upstream.requests.length - asked).toBe(20)
      }
    },
  },
  {
    claim: 'makes one request to the store for each decision',
    async check(target) {
      const send = await newTenant(target)
      await burst(1, () => send())
      const before = target.store.requests
      await burst(25, () => send())
      expect(target.store.requests - before).toBe(25)
    },
  },
  {
    claim: 'reports the limits on an allowed response',
    check: (target) =>
      withinOneDay(async () => {
        const send = await newTenant(target, 'growth')
        const first = await send()
        expect(first.status).toBe(200)
        expect(limitHeaders(first)).toEqual({
          'x-ratelimit-limit': '60',
          'x-ratelimit-remaining': '59',
          'x-ratelimit-reset': expect.stringMatching(/^\d{10}$/),
          'x-ratelimit-scope': 'tenant+route',
          'ratelimit-policy': '"daily";q=2000;w=86400, "rpm";q=60;w=60',
          ratelimit: expect.stringMatching(/^"daily";r=1999;t=\d+, "rpm";r=59;t=60$/),
        })
        expectSecondsFromNow(first.headers.get('x-ratelimit-reset'), 60)
        const second = await send('probe')
        expect(second.headers.get('x-ratelimit-remaining'), 'each route has its own').toBe('59')
        expect(second.headers.get('ratelimit'), 'the day is shared').toMatch(/^"daily";r=1998;/)
      }),
  },
  {
    claim: 'answers 429 with consistent headers and body when the minute is used up',
    async check(target) {
      const send = await newTenant(target)
      await burst(20, () => send())
      const denied = await send()
      expect(denied.status).toBe(429)
      const retryAfter = Number(denied.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThan(0)
      expect(retryAfter).toBeLessThanOrEqual(60)
      const resetAt = denied.headers.get('x-ratelimit-reset') ?? ''
      expectSecondsFromNow(resetAt, 60)
      expect(denied.headers.get('content-type')).toBe('application/json')
      expect(denied.headers.get('cache-control')).toBe('no-store')
      expect(limitHeaders(denied)).toEqual({
        'x-ratelimit-limit': '20',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': resetAt,
        'x-ratelimit-scope': 'tenant+route',
        'ratelimit-policy': '"daily";q=500;w=86400, "rpm";q=20;w=60',
        ratelimit: `"rpm";r=0;t=${retryAfter}`,
        'retry-after': String(retryAfter),
        'retry-after-ms': expect.stringMatching(/^\d{4,5}$/),
      })
      expect(Math.ceil(Number(denied.headers.get('retry-after-ms')) / 1000)).toBe(retryAfter)
      expect(await denied.json()).toEqual({
        error: 'rate_limit_exceeded',
        message: `This call may cost 1; 0 of 20 requests of policy "rpm" are left. Retry in ${retryAfter} s.`,
        policy: 'rpm',
        scope: 'tenant+route',
        retryAfter,
        resetAt: Number(resetAt),
      })
    },
  },
  {
    claim: 'says daily_quota_exceeded when the day is used up, over all routes together',
    check: (target) =>
      withinOneDay(async () => {
        const send = await newTenant(target, 'trial')
        const statuses = await burst(60, (index) => send(ROUTES[index % ROUTES.length]))
        expect(statuses).toEqual({ 200: 50, 429: 10 })
        const denied = await send('feedback')
        expect(denied.status).toBe(429)
        expect(limitHeaders(denied)).toMatchObject({
          'x-ratelimit-limit': '50',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-scope': 'tenant',
          'ratelimit-policy': '"daily";q=50;w=86400, "rpm";q=20;w=60',
        })
        const midnight = new Date().setUTCHours(24, 0, 0, 0) / 1000
        expect(denied.headers.get('x-ratelimit-reset')).toBe(String(midnight))
        // A wait of a minute or more is one that a client should not sleep through.
        const isLong = denied.headers.get('x-should-retry') === 'false'
        expect(denied.headers.has('retry-after-ms')).toBe(!isLong)
        expect(await denied.json()).toMatchObject({
          error: 'daily_quota_exceeded',
          policy: 'daily',
          scope: 'tenant',
          resetAt: midnight,
        })
      }),
  },
  {
    claim: 'limits a tenant with an unknown plan by the smallest one',
    async check(target) {
      for (const plan of ['constructor', 'Enterprise', '']) {
        const send = await newTenant(target, plan)
        expect(await burst(25, () => send())).toEqual({ 200: 20, 429: 5 })
      }
    },
  },
  {
    claim: 'goes on limiting locally while the store is down, and never answers 500',
    async check(target) {
      const spent = await newTenant(target)
      await burst(20, () => spent())
      await target.store.down()
      try {
        const send = await newTenant(target)
        expect(await burst(25, () => send())).toEqual({ 200: 20, 429: 5 })
        const other = await send('probe')
        expect(other.status).toBe(200)
        expect(other.headers.get('x-ratelimit-remaining')).toBe('19')
      } finally {
        await target.store.up()
      }
      expect((await spent()).status, 'the store decides again, and remembers').toBe(429)
      expect(target.store.requests).toBeGreaterThan(0)
    },
  },
]

/** An epoch in seconds that is `seconds` from now, but for the time a test takes. */
function expectSecondsFromNow(epochSeconds: string | null, seconds: number): void {
  const ahead = Number(epochSeconds) - Date.now() / 1000
  expect(ahead).toBeGreaterThan(seconds - 30)
  expect(ahead).toBeLessThan(seconds + 2)
}
