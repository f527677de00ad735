import { randomUUID } from 'node:crypto'
import { limitByBinding, rateLimit, type BindingLimitOptions } from '@sluice/cloudflare'
import { fixedWindow } from '@sluice/core'
import { afterEach, describe, expect, it } from 'vitest'
import { setUp } from '../support/limiters.ts'
import { startWorker, type TestWorker } from './support.ts'

const FLOOD = {
  type: 'rate-limit' as const,
  namespace: '1',
  simple: { limit: 10, period: 60 as const },
}

let worker: TestWorker
afterEach(() => worker[Symbol.asyncDispose]())

/** The statuses of so many requests of a tenant, in the order they were answered. */
async function flood(count: number, tenant = randomUUID()): Promise<number[]> {
  const headers = { 'x-tenant': tenant }
  const answers = await Promise.all(
    Array.from({ length: count }, () => fetch(worker.url, { headers })),
  )
  return answers.map(({ status }) => status)
}

const count = (statuses: number[], status: number) =>
  statuses.filter((each) => each === status).length

describe("Cloudflare's rate-limiting binding in front", () => {
  it('keeps a flood away from Redis, while the exact limit decides below it', async () => {
    worker = await startWorker('flood', {}, { env: { FLOOD } })
    // Loads the script, so that from here on each decision is one request to the store.
    expect(await flood(1)).toEqual([200])
    const before = worker.storeRequests
    const statuses = await flood(100)
    expect([count(statuses, 200), count(statuses, 429)]).toEqual([3, 97])
    // Ten a minute reach Redis; twenty if a minute ends meanwhile.
    expect(worker.storeRequests - before).toBeLessThanOrEqual(20)
    expect(worker.storeRequests - before).toBeGreaterThanOrEqual(10)
  })

  it('denies as a limit does: with the headers and the body of a 429', async () => {
    worker = await startWorker('flood', {}, { env: { FLOOD } })
    const tenant = randomUUID()
    const attempt = async () => {
      await flood(25, tenant)
      const before = worker.storeRequests
      const response = await fetch(worker.url, { headers: { 'x-tenant': tenant } })
      return { response, decided: worker.storeRequests - before }
    }
    let last = await attempt()
    // The binding counts in minutes of the clock, and one may have ended in between.
    if (last.decided > 0) last = await attempt()
    expect(last.decided).toBe(0)
    const answer = last.response
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('60')
    expect(answer.headers.get('ratelimit')).toBe('"prefilter";r=0;t=60')
    expect(await answer.json()).toMatchObject({ error: 'rate_limit_exceeded', policy: 'prefilter' })
  })

  it('counts each tenant by itself', async () => {
    worker = await startWorker('flood', {}, { env: { FLOOD } })
    await flood(25)
    expect(count(await flood(3), 200)).toBe(3)
  })

  it.each(['throws', 'rejects', 'lies'])(
    'that %s leaves the decision to the exact limit',
    async (BROKEN) => {
      worker = await startWorker('flood', { BROKEN })
      const statuses = await flood(25)
      expect([count(statuses, 200), count(statuses, 429)]).toEqual([3, 22])
    },
  )

  it('that is missing leaves the decision to the exact limit', async () => {
    worker = await startWorker('flood')
    expect(count(await flood(25), 200)).toBe(3)
  })
})

const fullBinding = () => ({ limit: async () => ({ success: false }) })

describe("the pre-filter's options", () => {
  const good = {
    binding: () => ({ limit: async () => ({ success: true }) }),
    limit: 10,
    period: 60,
  }
  const policies = [fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })]
  const limiterFor = () => setUp(policies).limiter

  it.each<[string, object | string | null]>([
    ['limitByBinding.binding', { ...good, binding: 'FLOOD' }],
    ['limitByBinding.limit', { ...good, limit: 0 }],
    ['limitByBinding.limit', { ...good, limit: undefined }],
    ['limitByBinding.period', { ...good, period: 30 }],
    ['limitByBinding.key', { ...good, key: 'tenant' }],
    ['limitByBinding.scope', { ...good, scope: 'a b' }],
    ['limitByBinding.keys', { ...good, keys: () => 'acme' }],
    ['limitByBinding', null],
    ['limitByBinding', 'FLOOD'],
  ])('%s is checked at construction', (option, options) => {
    expect(() => limitByBinding(options as BindingLimitOptions<object>)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option }),
    )
  })

  it.each<[Partial<BindingLimitOptions<object>>, string | undefined]>([
    [{}, 'tenant'],
    [{ key: () => 'u1' }, undefined],
    [{ key: () => 'u1', scope: 'user' }, 'user'],
  ])('%j make the scope of a denial %j', async (more, scope) => {
    const options = { ...good, ...more, binding: fullBinding } as BindingLimitOptions<object>
    const handle = rateLimit(
      limiterFor,
      { routes: ['/**'], subject: () => ({ tenant: 'acme' }), prefilter: limitByBinding(options) },
      () => new Response(),
    )
    const response = await handle(new Request('https://app.example/'), {}, {})
    expect(response.status).toBe(429)
    const body = (await response.json()) as { policy?: string; scope?: string }
    expect([body.policy, body.scope]).toEqual(['prefilter', scope])
  })

  it.each(['FLOOD', good])('do not accept a bare binding: %j', (prefilter) => {
    const options = { routes: ['/**'], subject: () => null, prefilter: prefilter as never }
    expect(() => rateLimit(limiterFor, options, () => new Response())).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: 'prefilter' }),
    )
  })

  it('require a limiter, or a function that creates one', () => {
    const prefilter = limitByBinding(good as BindingLimitOptions<object>)
    const options = { routes: ['/**'], subject: () => null, prefilter }
    expect(() => rateLimit({} as never, options, () => new Response())).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: 'limiter' }),
    )
  })
})
