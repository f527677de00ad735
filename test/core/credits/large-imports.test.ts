import { manualClock, type Store } from '@sluice/core'
import {
  creditAlgorithm,
  creditOperations,
  exportCredits,
  grant,
  importCredits,
} from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { beforeAll, describe, expect, it } from 'vitest'
import { objectsInProcess } from '../../support/objects.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { ACME, lawful, limiterOn } from './support.ts'

const IDS = 10_000
const redis = sharedRedis()

/** A payment as Stripe names it, with the longest reason. */
const payment = (n: number) =>
  ({
    amount: 10_000_000,
    id: `pi_3PqRsTuVwXyZ0123456789${String(n).padStart(5, '0')}`,
    at: NOON,
    kind: 'paid',
    reason: 'Überweisung '.repeat(50),
  }) as const

/** A store, and a new process over what it has kept. */
const STORES: Readonly<Record<string, () => { store: Store; again: () => Store }>> = {
  memory: () => {
    const store = memory()
    return { store, again: () => store }
  },
  redis: () => {
    const prefix = freshPrefix()
    return { store: redis.store(prefix), again: () => redis.store(prefix) }
  },
  'durable objects': () => {
    const own = { algorithms: [creditAlgorithm], operations: creditOperations }
    const objects = objectsInProcess(own, manualClock(NOON))
    const open = () => objects.store({ timeoutMs: 30_000 })
    return {
      store: open(),
      again() {
        objects.restart()
        return open()
      },
    }
  },
}

let text: string
beforeAll(async () => {
  const limiter = limiterOn(memory())
  for (let n = 0; n < IDS; n += 1) await grant(limiter, ACME, payment(n))
  text = await exportCredits(limiter, ACME)
})

describe.each(Object.entries(STORES))('in %s', (_, make) => {
  it('a balance with all ids that it may know is imported, kept, and goes on', async () => {
    const { store, again } = make()
    expect(await importCredits(limiterOn(store), ACME, text)).toEqual({ exportedAt: NOON })
    const limiter = limiterOn(again())
    // Redis has fields in an order of its own.
    expect(JSON.parse(await exportCredits(limiter, ACME))).toEqual(JSON.parse(text))
    expect((await grant(limiter, ACME, payment(0))).applied).toBe(false)
    await expect(grant(limiter, ACME, payment(IDS))).rejects.toMatchObject({
      code: 'too_many_grants',
    })
    expect((await limiter.check(ACME, { cost: { credit: 5 } })).allowed).toBe(true)
    expect((await lawful(limiterOn(again()))).balance).toBe(IDS * 10_000_000 - 5)
    await expect(importCredits(limiter, ACME, text)).rejects.toMatchObject({
      code: 'balance_exists',
    })
  })
})
