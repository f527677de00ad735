import {
  createLimiter,
  fixedWindow,
  isDenied,
  manualClock,
  type Policy,
  type Store,
} from '@sluice/core'
import { configure, partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { fitRange, reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { COST, mustReserve, POLICIES } from './support.ts'

const own = ownRedisOverHttp()

/** A limiter of which one reply or request is lost on demand, and what is left of its policies in Redis. */
async function losing(onStoreError: 'local' | 'allow' | 'deny') {
  const { url, token } = own.local
  let lose: 'request' | 'reply' | undefined
  const store = upstash({
    url,
    token,
    prefix: freshPrefix(),
    timeoutMs: 30_000,
    async fetch(target, init) {
      const lost = lose
      lose = undefined
      if (lost === 'request') throw new TypeError('The request is lost')
      const response = await fetch(target, init)
      if (lost === undefined) return response
      throw new TypeError('The reply is lost')
    },
  })
  const limiter = createLimiter({ store, policies: POLICIES, onStoreError })
  // The scripts are loaded with it: what is lost is a reply to one of them.
  await (await mustReserve(limiter, { tenant: 'warm' }, { cost: COST })).cancel()
  return {
    limiter,
    loseNext: (what: 'request' | 'reply' = 'reply') => void (lose = what),
    left: async () => remaining(await limiter.peek(ACME, { cost: { token: 0 } })),
  }
}

describe('a reservation in Redis', () => {
  const FULL = { daily: 100, window: 100, calls: 3 }

  it.each(['local', 'allow'] as const)(
    'whose reply was lost is corrected in the store, with onStoreError %s',
    async (onStoreError) => {
      const { limiter, loseNext, left } = await losing(onStoreError)
      expect(await left()).toMatchObject(FULL)
      loseNext()
      const decision = await mustReserve(limiter, ACME, { cost: COST })
      expect(decision.degraded).toMatchObject({ mode: onStoreError })
      expect(await left()).toMatchObject({ daily: 70, window: 70, calls: 2 })
      expect(await decision.settle({ token: 10 })).toMatchObject({ returned: { token: 20 } })
      expect(await left()).toMatchObject({ daily: 90, window: 90, calls: 3 })
      expect(await decision.settle({ token: 10 })).toMatchObject({
        why: 'settled_before',
        returned: { token: 20 },
      })
    },
  )

  it.each(['local', 'allow'] as const)(
    'whose reply was lost tells that settling failed, too, and may be repeated, with onStoreError %s',
    async (onStoreError) => {
      const { limiter, loseNext, left } = await losing(onStoreError)
      loseNext()
      const decision = await mustReserve(limiter, ACME, { cost: COST })
      loseNext('request')
      expect(await decision.settle({ token: 10 })).toMatchObject({ storeFailed: true })
      expect(await left()).toMatchObject({ daily: 70, window: 70, calls: 2 })
      const repeated = await decision.settle({ token: 10 })
      expect(repeated).toMatchObject({ applied: true, returned: { token: 20 } })
      expect(repeated.storeFailed).toBeUndefined()
      expect(await left()).toMatchObject({ daily: 90, window: 90, calls: 3 })
    },
  )

  it('whose reply was lost is corrected by what the store has granted', async () => {
    const { limiter, loseNext, left } = await losing('allow')
    const fit = fitRange({ floor: 1, most: 500, rates: { token: 1_000_000 } })
    await mustReserve(limiter, { tenant: 'warm' }, { cost: { token: 10 }, fit })
    loseNext()
    const decision = await mustReserve(limiter, ACME, { cost: { token: 10 }, fit })
    // It was told the most, but the store had room for 90.
    expect(decision).toMatchObject({ granted: 500 })
    expect(await left()).toMatchObject({ daily: 0, window: 0 })
    await decision.settle({ token: 25 })
    expect(await left()).toMatchObject({ daily: 75, window: 75, calls: 3 })
  })

  it('whose reply was lost keeps the most, which its caller was granted, if nothing is reported', async () => {
    const { limiter, loseNext, left } = await losing('allow')
    const fit = fitRange({ floor: 1, most: 70, rates: { token: 1_000_000 } })
    await mustReserve(limiter, { tenant: 'warm' }, { cost: { token: 10 }, fit })
    loseNext()
    const decision = await mustReserve(limiter, ACME, { cost: { token: 10 }, fit })
    expect(decision).toMatchObject({ granted: 70, degraded: { mode: 'allow' } })
    await decision.settle({})
    expect(await left()).toMatchObject({ daily: 20, window: 20 })
  })

  it('that was denied because its reply was lost charges nothing', async () => {
    const { limiter, loseNext, left } = await losing('deny')
    const works: Promise<unknown>[] = []
    loseNext()
    const waitUntil = (work: Promise<unknown>): void => void works.push(work)
    const denied = await reserve(limiter, ACME, { cost: COST, waitUntil })
    expect(denied).toMatchObject({ allowed: false, reason: 'store_unavailable' })
    await Promise.all(works)
    expect(works).toHaveLength(1)
    expect(await left()).toMatchObject(FULL)
  })

  it('that is denied by an outdated limit charges nothing if the reply of its second try is lost', async () => {
    const inner = memory()
    let isLost = false
    const store: Store = {
      ...inner,
      async check(request) {
        const reply = await inner.check(request)
        if (isLost && !isDenied(request.entries, reply.verdicts)) throw new TypeError('Lost')
        return reply
      },
    }
    const clock = manualClock(NOON)
    const isolate = () =>
      createLimiter({
        store,
        clock,
        onStoreError: 'deny',
        policies: [fixedWindow({ name: 'rpm', limit: 1, window: '1h', per: ['tenant'] })],
        extensions: [
          runtimeConfiguration({ allow: { rpm: ['limit'] }, partitions: partitionRecords() }),
        ],
      })
    const [here, there] = [isolate(), isolate()]
    await there.check(ACME)
    await configure(here, { rpm: { limit: 5 } }, ACME)
    clock.advance(5_000)
    const works: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>): void => void works.push(work)
    isLost = true
    const denied = await reserve(there, ACME, { waitUntil })
    isLost = false
    expect(denied).toMatchObject({ allowed: false, degraded: undefined })
    await Promise.all(works)
    expect(works).toHaveLength(1)
    expect(remaining(await there.peek(ACME))).toEqual({ rpm: 4 })
  })

  it('reports a settlement that was lost, which may be repeated', async () => {
    const { limiter, loseNext, left } = await losing('local')
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    // Load the script first: what is lost is the reply to the settling itself.
    const other = await mustReserve(limiter, ACME, { cost: COST })
    await other.cancel()
    loseNext()
    await expect(decision.settle({ token: 10 })).rejects.toMatchObject({
      code: 'store_unreachable',
    })
    expect(await decision.settle({ token: 10 })).toMatchObject({
      why: 'settled_before',
      returned: { token: 20 },
    })
    expect(await left()).toMatchObject({ window: 90 })
  })
})

describe('a reservation without the store', () => {
  it('is settled in the same memory', async () => {
    const store = upstash({ url: 'http://127.0.0.1:9', token: 'none' })
    const [policy] = POLICIES as [Policy]
    const limiter = createLimiter({ store, policies: [policy] })
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    expect(decision).toMatchObject({ allowed: true, degraded: { mode: 'local' } })
    expect((await decision.settle({ token: 10 })).returned).toEqual({ token: 20 })
    const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
    expect(policies[0]?.remaining).toBe(90)
  })

  it('has nothing to settle if it was allowed without counting', async () => {
    const store = upstash({ url: 'http://127.0.0.1:9', token: 'none' })
    const limiter = createLimiter({ store, policies: POLICIES, onStoreError: 'allow' })
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    expect(await decision.settle({ token: 1 })).toEqual({
      applied: false,
      why: 'nothing_charged',
      returned: {},
      overrun: {},
      storeFailed: true,
    })
  })
})
