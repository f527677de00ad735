import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLimiter, fixedWindow, manualClock, type Store } from '@sluice/core'
import { adjust, balance, creditAlgorithm, creditOperations, grant } from '@sluice/core/credits'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { afterAll, describe, expect, it } from 'vitest'
import { calendarAlgorithm } from '@sluice/core/calendars'
import { objectsInProcess, storeIn } from '../../support/objects.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { HOUR, NOON } from '../../support/times.ts'
import { freshPrefix } from '../../support/stores.ts'
import { ACME, give, lawful, limiterOn, policyOf, spend, UNIT } from './support.ts'

/** See `docs/proofs.md`. */
const OTHERS = Number(process.env['CREDITS_OTHER_KEYS'] ?? 300)
const folder = mkdtempSync(join(tmpdir(), 'sluice-credits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const STORES: Record<string, () => Store> = {
  'memory of 100 keys': () => memory({ maxKeys: 100 }),
  file: () => file(join(folder, freshPrefix())),
  objects: () =>
    storeIn(
      objectsInProcess({
        operations: creditOperations,
        algorithms: [calendarAlgorithm, creditAlgorithm],
      }).namespace,
    ),
}

const PER_MINUTE = fixedWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })

/** Charges many other tenants, the first of them with reservations, of which memory keeps no more marks than keys. */
async function crowd(store: Store, count: number): Promise<void> {
  // By the clock of the balances: by a later one, their reservations would have expired.
  const clock = manualClock(NOON)
  const others = createLimiter({ store, clock, policies: [PER_MINUTE], onStoreError: 'deny' })
  for (let n = 0; n < count; n += 1) {
    const tenant = `other${n}`
    if (n % 10 > 0 || n > 900) await others.check({ tenant })
    else {
      const call = await reserve(others, { tenant })
      if (call.allowed && n % 20 === 0) await call.settle({ request: 1 })
    }
  }
}

describe.each(Object.entries(STORES))('%s', (name, make) => {
  // A folder that is full refuses another key, and so drops none. Each tenant is an object with a database.
  const others = Math.min(OTHERS, { file: 3_000, objects: 20_000 }[name] ?? OTHERS)

  it('keeps what was spent, held and granted however many others are counted', async () => {
    const store = make()
    const limiter = limiterOn(store)
    await give(limiter, 100, 'g')
    expect(await spend(limiter, 100)).toBe(true)
    await give(limiter, 10, 'h')
    const call = await reserve(limiter, ACME, { cost: { [UNIT]: 10 } })
    await crowd(store, others)
    expect(await spend(limiter, 1)).toBe(false)
    expect(await lawful(limiter)).toMatchObject({ balance: 0, held: 10, totals: { settled: 100 } })
    expect((await give(limiter, 100, 'g')).applied).toBe(false)
    if (!call.allowed) throw new Error('it fits')
    await call.settle({ [UNIT]: 4 })
    expect(await lawful(limiter)).toMatchObject({ held: 0, totals: { granted: 110 } })
  }, 36_000_000)

  it('keeps a balance, and its ids, beside as many other balances', async () => {
    const store = make()
    const limiter = limiterOn(store)
    await give(limiter, 100, 'g')
    expect(await spend(limiter, 100)).toBe(true)
    for (let n = 0; n < others; n += 1) await give(limiter, 5, 'g', { tenant: `other${n}` })
    expect((await give(limiter, 100, 'g')).applied).toBe(false)
    expect(await spend(limiter, 1)).toBe(false)
  }, 36_000_000)

  it('leaves a balance alone when a limiter is reset', async () => {
    const limiter = createLimiter({
      store: make(),
      onStoreError: 'deny',
      policies: [policyOf(), PER_MINUTE],
    })
    await adjust(limiter, ACME, { amount: 7, id: 'a', at: Date.now(), reason: 'test' })
    await limiter.check(ACME, { cost: { [UNIT]: 3 } })
    await limiter.reset(ACME)
    expect((await balance(limiter, ACME)).balance).toBe(4)
    await expect(limiter.reset(ACME, { policies: ['credits'] })).rejects.toMatchObject({
      message: expect.stringContaining('adjust'),
    })
    expect((await balance(limiter, ACME)).balance).toBe(4)
  })
})

const isBalance = (key: string): boolean =>
  key.includes('credits:credits') && !key.includes('grants:')

describe('in Redis', () => {
  const shared = sharedRedis()

  it('gives back 4,200 reservations at once, of a lot that has expired', async () => {
    const clock = manualClock(NOON)
    const limiter = limiterOn(shared.store(), { unsettled: 'release' }, { clock })
    const [expiresAt, paid] = [NOON + HOUR, { at: NOON, kind: 'paid' } as const]
    await grant(limiter, ACME, { ...paid, amount: 4_200, id: 'g', expiresAt })
    for (let n = 0; n < 4_200; n += 300) {
      const calls = Array.from({ length: 300 }, () =>
        reserve(limiter, ACME, { cost: { [UNIT]: 1 }, settleWithin: '1h' }),
      )
      await Promise.all(calls)
    }
    clock.advance(HOUR)
    expect((await give(limiter, 5, 'h')).applied).toBe(true)
    const totals = { granted: 4_205, expired: 4_200 }
    expect(await lawful(limiter)).toMatchObject({ balance: 5, held: 0, totals })
  })

  it('a balance has no end, and the ids of its grants have one', async () => {
    const prefix = freshPrefix()
    const limiter = limiterOn(shared.store(prefix))
    await give(limiter, 100, 'g')
    const call = await reserve(limiter, ACME, { cost: { [UNIT]: 10 } })
    if (call.allowed) await call.settle({ [UNIT]: 120 })
    await spend(limiter, 1)
    const keys = (await shared.redis.keys(`${prefix}*`)).toSorted()
    const ttls = await Promise.all(keys.map((key) => shared.redis.ttl(key)))
    const types = await Promise.all(keys.map((key) => shared.redis.type(key)))
    const ends = keys.map((key, at) => [isBalance(key), ttls[at] === -1] as const)
    expect(ends.filter(([is, isEndless]) => is !== isEndless)).toEqual([])
    expect(ends.filter(([is]) => is)).toHaveLength(1)
    // Of each other type, a moving tenant would leave something behind.
    expect(types.filter((type) => !['string', 'hash', 'zset'].includes(type))).toEqual([])
    const day = 86_400
    const ids = ttls.find((_, at) => keys[at]!.includes('grants:'))
    expect(ids).toBeGreaterThan(90 * day)
    expect(ids).toBeLessThan(93 * day)
  })
})
