import { concurrency, dailyCap, StoreError, type Store } from '@sluice/core'
import { rateLimit, reserving } from '@sluice/core/http'
import { reserve } from '@sluice/core/reservations'
import {
  denialId,
  flushDenials,
  latestDeniedCost,
  listDenials,
  recordDenials,
} from '@sluice/usage/denials'
import { describe, expect, it } from 'vitest'
import { collectProblems, setUp } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'

const budget = dailyCap({ name: 'budget', limit: 1_000_000, unit: 'usd', per: ['tenant'] })
const calls = concurrency({ name: 'calls', limit: 5, per: ['tenant'] })
const CHAT = { tenant: 'acme', route: 'chat' }
const down = (): Promise<never> => Promise.reject(new StoreError('store_unreachable', 'down'))
const extensions = [recordDenials({ flushEvery: '1h' })]

describe.each(STORES_TO_TEST)('the cost of the latest denial, over %s', (name) => {
  const make = storesOf(name)

  it('is that of the same dimensions, as far as they are named', async () => {
    const { limiter, clock } = setUp([budget], { store: make(), extensions })
    expect(await latestDeniedCost(limiter, CHAT)).toBeUndefined()
    await reserve(limiter, CHAT, { cost: { usd: 960_000 } })
    await reserve(limiter, CHAT, { cost: { usd: 120_000 } })
    clock.advance(1_000)
    await reserve(limiter, { ...CHAT, route: 'image' }, { cost: { usd: 500_000 } })
    await flushDenials(limiter)
    expect(await latestDeniedCost(limiter, CHAT)).toMatchObject({
      at: NOON,
      cost: { usd: 120_000 },
    })
    const latest = await latestDeniedCost(limiter, { tenant: 'acme' })
    expect(latest).toMatchObject({ at: NOON + 1_000, cost: { usd: 500_000 } })
    expect(await latestDeniedCost(limiter, { ...CHAT, route: 'none' })).toBeUndefined()
  })

  it('has the id and the reason that the client got, while calls in flight hold units', async () => {
    const { limiter } = setUp([budget, calls], { store: make(), extensions })
    await reserve(limiter, CHAT, { cost: { usd: 960_000 } })
    const app = rateLimit(
      limiter,
      {
        routes: ['/**'],
        subject: () => CHAT,
        cost: reserving(() => ({ usd: 120_000 })),
        onDenied: denialId(),
      },
      () => new Response('ok'),
    )
    const denied = await app(new Request('https://app.example/', { method: 'POST' }))
    const id = denied.headers.get('x-request-id')
    expect(await denied.json()).toMatchObject({
      error: 'concurrency_exceeded',
      message:
        'This call may cost $0.12; $0.04 of $1.00 of policy "budget" is left; more is held by calls in flight. Retry in 1 s.',
    })
    await flushDenials(limiter)
    expect(await listDenials(limiter, 'acme')).toMatchObject([
      { id, reason: 'concurrency_exceeded', retryAfterMs: 1_000 },
    ])
  })
})

it('is unknown where denials are not recorded, or the store does not answer', async () => {
  expect(await latestDeniedCost(setUp([budget]).limiter, CHAT)).toBeUndefined()
  const store: Store = { check: down, run: down, reset: down }
  const { listener } = collectProblems()
  const { limiter } = setUp([budget], { store, extensions: [...extensions, listener] })
  expect(await latestDeniedCost(limiter, CHAT)).toBeUndefined()
})
