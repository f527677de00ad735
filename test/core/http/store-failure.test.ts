import {
  createLimiter,
  dailyCap,
  defineExtension,
  slidingWindow,
  StoreError,
  type OnStoreError,
  type Policy,
  type Store,
} from '@sluice/core'
import { decisionOf, rateLimit } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'

const per = ['tenant']
const rpm = slidingWindow({ name: 'rpm', limit: 2, window: '1m', per })
const budget = (options: object = {}): Policy =>
  dailyCap({ name: 'budget', limit: 1_000_000, unit: 'usd', per, ...options })

const down: Store = {
  ...memory(),
  check: () => Promise.reject(new StoreError('store_unreachable', 'The store cannot be reached')),
}

/** The answer of a handler that costs a cent, while the store fails. */
async function answerOf(policies: Policy[], onStoreError?: OnStoreError): Promise<Response> {
  const { listener } = collectProblems()
  const limiter = createLimiter({
    store: down,
    policies,
    extensions: [listener],
    ...(onStoreError !== undefined && { onStoreError }),
  })
  const cost = policies.some((policy) => policy !== rpm) ? { usd: 10_000 } : 1
  const options = { routes: ['/api/ai/**'], subject: () => ACME, cost }
  const handle = rateLimit(limiter, options, () => new Response('answered'))
  return handle(new Request('https://app.example/api/ai/chat'))
}

describe('while the store fails', () => {
  it.each<[string, Policy[]]>([
    ['a budget', [budget()]],
    ['a rate beside a budget', [rpm, budget()]],
  ])('%s answers 503, and when to come back', async (_, policies) => {
    const response = await answerOf(policies)
    expect(response.status).toBe(503)
    const names = ['retry-after', 'retry-after-ms', 'x-should-retry', 'ratelimit', 'cache-control']
    expect(names.map((name) => response.headers.get(name))).toEqual([
      '1',
      '1000',
      null,
      null,
      'no-store',
    ])
    expect(await response.json()).toMatchObject({
      error: 'store_unavailable',
      policy: null,
      retryAfter: 1,
    })
  })

  it.each<[string, Policy[], OnStoreError?]>([
    ['a rate', [rpm]],
    ['a budget whose limiter says so', [budget()], 'local'],
    ['a budget in shadow', [rpm, budget({ mode: 'shadow' })]],
    ['a budget without a limit', [rpm, budget({ limit: 'unlimited' })]],
    ['a budget of other routes', [rpm, budget({ routes: ['other'] })]],
  ])('%s is counted in this process', async (_, policies, onStoreError) => {
    const response = await answerOf(policies, onStoreError)
    expect([response.status, await response.text()]).toEqual([200, 'answered'])
    expect(response.headers.get('ratelimit-policy')).toMatch(/^"(rpm|budget)"/)
  })

  it('a budget that is enforced for one tenant only denies that one', async () => {
    const extension = defineExtension({
      name: 'own',
      connect: () => ({
        before: () => ({ settings: (_, partition) => ({ enforced: partition === 'tenant=acme' }) }),
      }),
    })
    const { listener } = collectProblems()
    const { limiter } = setUp([budget({ mode: 'shadow' })], {
      store: down,
      extensions: [extension, listener],
    })
    const modes = [ACME, { tenant: 'other' }].map(async (subject) => {
      const { degraded } = await limiter.check(subject, { cost: { usd: 1 } })
      return degraded?.mode
    })
    expect(await Promise.all(modes)).toEqual(['deny', 'local'])
  })
})

const respondWith = (store: Store) => {
  const limiter = createLimiter({
    store,
    policies: [rpm],
    extensions: [collectProblems().listener],
  })
  const options = { routes: ['/api/ai/**'], subject: () => ACME }
  return rateLimit(limiter, options, (request) =>
    Response.json([decisionOf(request)?.allowed, decisionOf(request)?.degraded ?? null]),
  )
}
const request = (path: string) => new Request(`https://app.example${path}`)

describe('the handler of a request', () => {
  it('learns from its decision that the store fails', async () => {
    const answer = await respondWith(down)(request('/api/ai/chat'))
    expect(await answer.json()).toEqual([true, { cause: 'store_unreachable', mode: 'local' }])
  })

  it('learns that it does not', async () => {
    const answer = await respondWith(memory())(request('/api/ai/chat'))
    expect(await answer.json()).toEqual([true, null])
  })

  it('finds no decision on a request that is not limited', async () => {
    const answer = await respondWith(down)(request('/about'))
    expect(await answer.json()).toEqual([null, null])
  })
})
