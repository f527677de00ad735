import { fixedWindow, rollout, type PolicyOptions, type Policy } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { denialBody, rateLimitHeaders, tooManyRequests, type HeaderStyle } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { allowed, app, denied, setUpAtMidnight, state } from './support.ts'
import { items } from './expect-headers.ts'

const ALL: HeaderStyle[] = ['x-ratelimit', 'draft', 'openai']

const shadow = { name: 'hidden', fits: false, enforced: false, scope: 'user', limit: 7 }

describe('a policy in shadow mode', () => {
  it('stands in no header of an allowed request, even if it would bind first', () => {
    const headers = rateLimitHeaders(
      allowed(state({ name: 'rpm', remaining: 9 }), state(shadow)),
      ALL,
    )
    expect(JSON.stringify(headers)).not.toMatch(/hidden|user/)
    expect(headers).toMatchObject({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '9',
      'RateLimit-Policy': '"rpm";q=100;w=60',
      RateLimit: '"rpm";r=9;t=30',
      'x-ratelimit-limit-requests': '100',
    })
  })

  it('stands in no header and no body of a denial', async () => {
    const rpm = state({ name: 'rpm', fits: false, retryAfterMs: 1_000 })
    for (const format of ['default', 'nested', 'problem', 'openai'] as const) {
      const response = tooManyRequests(denied(rpm, state(shadow)), { format, headers: ALL })
      const text = JSON.stringify([...response.headers]) + (await response.text())
      expect(text).toMatch(/rpm/)
      expect(text).not.toMatch(/hidden|user/)
    }
  })

  it('alone makes no headers', () => {
    expect(rateLimitHeaders(allowed(state(shadow)), ALL)).toEqual({})
  })
})

describe('the quota of a bucket', () => {
  it.each([
    ['a burst above its limit', { limit: 60, burst: 90 }, '90', { q: 90, w: 90 }],
    ['a burst below its limit', { limit: 60, burst: 5 }, '5', { q: 5, w: 5 }],
    ['seconds that do not come out even', { limit: 7, burst: 10 }, '10', { q: 10, w: 86 }],
    ['a burst that fills within a second', { limit: 600, burst: 1 }, '1', { q: 1, w: 1 }],
  ])('with %s is its burst, at the same rate', (_, bucket, limit, policy) => {
    const full = state({ name: 'bucket', ...bucket, remaining: bucket.burst })
    const headers = rateLimitHeaders(allowed(full), ALL)
    expect(headers['X-RateLimit-Limit']).toBe(limit)
    expect(headers['x-ratelimit-limit-requests']).toBe(limit)
    expect(items(headers['RateLimit-Policy'])).toEqual([['bucket', policy]])
    expect(Number(headers['X-RateLimit-Remaining'])).toBeLessThanOrEqual(Number(limit))
  })

  it('is the limit that a denial names', () => {
    const full = { name: 'bucket', limit: 60, burst: 90, fits: false }
    expect(denialBody(denied(state({ ...full, retryAfterMs: 1_000 }))).message).toBe(
      'This call may cost 1; 0 of 90 requests of policy "bucket" are left. Retry in 1 s.',
    )
  })
})

function message(fields: object): string {
  const decision = denied(state({ name: 'rpm', fits: false, retryAfterMs: null, ...fields }))
  return denialBody({ ...decision, reason: 'cost_exceeds_limit' }).message
}

describe('a cost that can never fit', () => {
  it('is compared with the limit', () => {
    expect(message({ limit: 10, cost: 11 })).toBe(
      'This call may cost 11; 0 of 10 requests of policy "rpm" are left. It never fits.',
    )
  })

  it('is compared with the burst of a bucket', () => {
    expect(message({ limit: 60, burst: 5, cost: 6 })).toMatch(/may cost 6; 0 of 5 requests/)
  })

  it('is reported in dollars for a limit in dollars', () => {
    const fields = { name: 'budget', unit: 'usd', limit: 5_000_000, burst: 5_000_000 }
    expect(message({ ...fields, cost: 7_500_000 })).toBe(
      'This call may cost $7.50; $0.00 of $5.00 of policy "budget" is left. It never fits.',
    )
  })

  it('never fits if only its stripes are too small', async () => {
    const striped = fixedWindow({ name: 'day', limit: 10, window: '1d', per: 'global', stripes: 5 })
    const decision = await setUpAtMidnight(striped).limiter.check({}, { cost: 3 })
    expect(decision.reason).toBe('cost_exceeds_limit')
    expect(decision.allowed || denialBody(decision).message).toBe(
      'This call may cost 3; 2 of 10 requests of policy "day" are left. It never fits.',
    )
  })
})

const perTenant = (fields: Partial<PolicyOptions>): Policy =>
  fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'], ...fields })

describe('a request that no policy counts', () => {
  it.each([
    ['no limit', perTenant({ limit: 'unlimited' })],
    ['a limit that is configured nowhere', perTenant({ limit: 'configured' })],
    ['a policy of another route', perTenant({ routes: ['other'] })],
    ['a policy per a dimension it lacks', perTenant({ per: ['user'], onMissing: 'skip' })],
    ['a policy that is not enabled', perTenant({ rollout: rollout({ enabled: 0 }) })],
  ])('passes with no header: %s', async (_, only) => {
    const extensions = [runtimeConfiguration({ allow: { rpm: ['limit'] } })]
    const { limiter } = setUp([only], { extensions })
    const ask = app(limiter, { headers: ALL })
    for (let time = 0; time < 3; time += 1) {
      const answer = await ask({}, { method: 'POST' })
      expect(answer.status).toBe(200)
      expect([...answer.headers.keys()]).toEqual(['content-type'])
    }
  })
})

it('a limit of 0 refuses each request and names the policy', async () => {
  const ask = app(setUpAtMidnight(perTenant({ limit: 0 })).limiter)
  const answer = await ask()
  expect([answer.status, answer.headers.has('retry-after')]).toEqual([429, false])
  expect(await answer.json()).toMatchObject({
    policy: 'rpm',
    message: 'This call may cost 1; 0 of 0 requests of policy "rpm" are left. It never fits.',
  })
})

/** Authenticated requests have a user, others only share the route. */
const subject = ({ headers }: Request) => ({ user: headers.get('x-user') ?? undefined })

describe('a tier', () => {
  const tiers = [
    fixedWindow({ name: 'site', limit: 5, window: '1h', per: 'global' }),
    fixedWindow({ name: 'route', limit: 3, window: '1h', per: ['route'], scope: 'route' }),
    fixedWindow({
      name: 'user',
      limit: 1,
      window: '1h',
      per: ['user'],
      onMissing: 'skip',
      scope: 'user',
    }),
  ]
  function asking() {
    const routes = ['/api/ai/chat', '/api/ai/other']
    const ask = app(setUpAtMidnight(...tiers).limiter, { subject, routes })
    return async (headers: Record<string, string>, path?: string) => {
      const answer = await ask(headers, {}, path)
      if (answer.status === 200) {
        return [200, answer.headers.get('x-ratelimit-scope')]
      }
      const { scope, policy } = (await answer.json()) as Record<string, unknown>
      expect(answer.headers.get('x-ratelimit-scope')).toBe(scope)
      return [answer.status, scope, policy]
    }
  }

  it('is named in the header and in the body of its denial', async () => {
    const ask = asking()
    const [ann, bob] = [{ 'x-user': 'ann' }, { 'x-user': 'bob' }]
    expect(await ask(ann)).toEqual([200, 'user'])
    expect(await ask(ann)).toEqual([429, 'user', 'user'])
    expect(await ask(bob)).toEqual([200, 'user'])
    // Without a user only the route's own limit counts, which the users have used a part of.
    expect(await ask({})).toEqual([200, 'route'])
    expect(await ask({})).toEqual([429, 'route', 'route'])
    expect(await ask({}, '/api/ai/other')).toEqual([200, 'global'])
    expect(await ask({}, '/api/ai/other')).toEqual([200, 'global'])
    expect(await ask({}, '/api/ai/other')).toEqual([429, 'global', 'site'])
  })
})
