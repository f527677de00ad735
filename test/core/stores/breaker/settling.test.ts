import { concurrency, fixedWindow, type LimiterOptions } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { reservationOf, reserving, rateLimit } from '@sluice/core/http'
import { reservation, reserve, settleWithRetry } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../../support/limiters.ts'
import { entriesOf, rulesOf, storeRequest } from '../../../support/store-request.ts'
import { mustReserve } from '../../reservations/support.ts'
import { FaultyStore, hourly, pass, setUpBreaker, stopDates, unreachable } from './support.ts'

stopDates()

const tokens = fixedWindow({
  name: 'tokens',
  limit: 100,
  unit: 'token',
  window: '1h',
  per: ['tenant'],
})
const COST = { cost: { token: 30 } }
const paused = { name: 'StoreError', code: 'store_paused' }

const setUpTokens = (options: Pick<LimiterOptions, 'onStoreError'> = {}) =>
  setUpBreaker({ policies: [tokens], cost: { token: 1 }, ...options })

describe('while a breaker is open', () => {
  it('reset and configure throw, and send nothing', async () => {
    const extensions = [runtimeConfiguration({ allow: { hourly: ['limit'] } })]
    const { limiter, store, open } = setUpBreaker({ extensions })
    await open()
    await expect(limiter.reset(ACME)).rejects.toMatchObject(paused)
    await expect(configure(limiter, { hourly: { limit: 5 } })).rejects.toMatchObject(paused)
    expect(store.calls).toEqual([])
  })

  it('a reset that came too early can be made again', async () => {
    const { limiter, store, open } = setUpBreaker()
    await open()
    store.error = undefined
    await expect(limiter.reset(ACME)).rejects.toMatchObject(paused)
    pass(1_000)
    await limiter.reset(ACME)
    expect(store.calls).toEqual(['reset'])
  })
})

describe('a charge that the store holds', () => {
  it('is settled while the breaker is open, and its success closes the breaker', async () => {
    const { limiter, store, cause, open } = setUpTokens()
    const call = await mustReserve(limiter, ACME, COST)
    await open()
    store.error = undefined
    expect(await call.settle({ token: 10 })).toMatchObject({ returned: { token: 20 } })
    expect(store.calls).toEqual(['settle'])
    expect(await cause()).toBeUndefined()
  })

  it('whose settlement fails can be settled again, and does not prolong the pause', async () => {
    const { limiter, store, cause, open } = setUpTokens()
    const call = await mustReserve(limiter, ACME, COST)
    await open()
    pass(900)
    await expect(call.settle({ token: 10 })).rejects.toMatchObject({ code: 'store_unreachable' })
    pass(100)
    store.error = undefined
    expect(await cause()).toBeUndefined()
    expect(await call.settle({ token: 10 })).toMatchObject({ returned: { token: 20 } })
  })

  it('is settled without taking a try from the decisions', async () => {
    const { limiter, store, cause, open } = setUpTokens()
    const call = await mustReserve(limiter, ACME, COST)
    await open()
    pass(1_000)
    await expect(call.settle({ token: 10 })).rejects.toMatchObject({ code: 'store_unreachable' })
    expect(await cause()).toBe('store_unreachable')
    expect(store.calls).toEqual(['settle', 'check'])
  })

  it('whose settlements fail opens the breaker as well', async () => {
    const { limiter, store, cause } = setUpTokens()
    const call = await mustReserve(limiter, ACME, COST)
    store.error = unreachable()
    await expect(call.settle({ token: 10 })).rejects.toMatchObject({ code: 'store_unreachable' })
    await expect(call.settle({ token: 10 })).rejects.toMatchObject({ code: 'store_unreachable' })
    expect(await cause()).toBe('store_paused')
  })

  it('is cancelled while the breaker is open, although the reply to the charge was lost', async () => {
    const { limiter, store, open } = setUpTokens({ onStoreError: 'allow' })
    store.error = unreachable()
    const call = await mustReserve(limiter, ACME, COST)
    await open()
    store.error = undefined
    await call.cancel()
    expect(store.calls).toEqual(['settle'])
  })

  it('frees its call in flight while the breaker is open', async () => {
    const calls = concurrency({ name: 'calls', limit: 3, per: ['tenant'] })
    const { limiter, store, open } = setUpBreaker({ policies: [calls] })
    let answer: (() => void) | undefined
    const options = { routes: ['/**'], subject: () => ACME, cost: reserving({ call: 1 }) }
    const handle = rateLimit(limiter, options, async (request) => {
      expect(reservationOf(request)?.degraded).toBeUndefined()
      await new Promise<void>((resolve) => (answer = resolve))
      return new Response('done')
    })
    const pending = handle(new Request('https://app.example/chat'))
    await expect.poll(() => answer).toBeDefined()
    await open()
    answer?.()
    await (await pending).text()
    await expect.poll(() => store.calls).toContain('release')
  })
})

describe('a reservation that was not sent, because the breaker was open,', () => {
  it('is settled in the memory that counts it, without a call', async () => {
    const { limiter, store, open } = setUpTokens({ onStoreError: 'local' })
    await open()
    const call = await mustReserve(limiter, ACME, COST)
    expect(await settleWithRetry(() => call.settle({ token: 10 }))).toMatchObject({
      applied: true,
      returned: { token: 20 },
    })
    pass(1_000)
    expect(await call.settle({ token: 10 })).toMatchObject({ why: 'settled_before' })
    expect(store.calls).toEqual([])
  })

  it('has nothing to settle if it was allowed without counting', async () => {
    const { limiter, store, open } = setUpTokens({ onStoreError: 'allow' })
    await open()
    const call = await mustReserve(limiter, ACME, COST)
    expect(await call.settle({ token: 10 })).toEqual({
      applied: false,
      why: 'nothing_charged',
      returned: {},
      overrun: {},
    })
    expect(store.calls).toEqual([])
  })

  it('has nothing to cancel if it was denied: no call, and no reservation is reported as lost', async () => {
    const { limiter, store, problems, open } = setUpTokens({ onStoreError: 'deny' })
    await open()
    const works: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>): void => void works.push(work)
    const denied = await reserve(limiter, ACME, { ...COST, waitUntil })
    expect(denied).toMatchObject({ allowed: false, degraded: { cause: 'store_paused' } })
    await Promise.all(works)
    expect(store.calls).toEqual([])
    expect(problems.map(({ code }) => code)).toEqual(['store_unreachable', 'store_paused'])
  })

  it('is settled in the store by another process, which cannot know', async () => {
    const here = setUpTokens({ onStoreError: 'allow' })
    await here.open()
    const call = await mustReserve(here.limiter, ACME, COST)
    const there = setUpTokens()
    await reservation(there.limiter, call.toJSON()).settle({ token: 10 })
    expect(there.store.calls).toEqual(['settle'])
  })

  it('is remembered with 10,000 others, and asked for in the store after that', async () => {
    const store = new FaultyStore()
    const guarded = breaker(store, { failures: 1 })
    store.error = unreachable()
    await guarded.reset([]).catch(() => {})
    store.calls.length = 0
    const rules = rulesOf(hourly)
    const entries = entriesOf(rules)
    const kind = { name: 'keep', write: () => {} }
    const send = (id: number) => {
      const mark = { kind, keys: [`mark:${id}`], data: undefined }
      return guarded.check(storeRequest(rules, entries, { mark })).catch(() => {})
    }
    for (let id = 0; id <= 10_000; id += 1) await send(id)
    const settle = (id: number) =>
      guarded.run({
        kind: { name: 'settle', settles: true, run: () => 'without the store' },
        keys: [],
        data: undefined,
        startedAt: 0,
        localMark: `mark:${id}`,
      })
    expect(await settle(1)).toBe('without the store')
    expect(store.calls).toEqual([])
    await expect(settle(0)).rejects.toMatchObject({ code: 'store_unreachable' })
  })
})

it('a tenant that a cache knows as denied stays denied while the breaker is open', async () => {
  const once = fixedWindow({ name: 'once', limit: 1, window: '1h', per: ['tenant'] })
  const { limiter, cause, open } = setUpBreaker({
    policies: [once],
    wrap: (store) => cacheDenials(store),
    onStoreError: 'allow',
  })
  for (let count = 0; count < 2; count += 1) await limiter.check({ tenant: 'spent' })
  await open()
  expect(await limiter.peek({ tenant: 'spent' })).toMatchObject({
    allowed: false,
    source: 'cache',
    degraded: { cause: 'store_paused', mode: 'local' },
  })
  expect(await cause('other')).toBe('store_paused')
})
