import { createLimiter, dailyCap, manualClock, slidingWindow, type Limiter } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import type { Metered } from '../support/command-meter.ts'
import { ownRedis } from '../support/running-redis.ts'
import { NOON } from '../support/times.ts'

/** Every command on it is counted, so it is shared with nobody. */
const own = ownRedis()

const TENANT = { tenant: 'acme' }
const POLICIES = [
  dailyCap({ name: 'daily', limit: 1_000, per: ['tenant'] }),
  slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant', 'model'] }),
]

const WRITING = ['set', 'zadd', 'pexpire', 'pexpireat', 'zremrangebyscore', 'zrem', 'hset', 'del']

/** The calls of these commands. */
const callsOf = ({ calls }: Metered, names: readonly string[]): Record<string, number> =>
  Object.fromEntries([...calls].filter(([name]) => names.includes(name)))

const listOf = (count: number, isOneModel = false) => ({
  choices: choices(
    Array.from({ length: count }, (_, at) => ({
      subject: { model: isOneModel ? 'm0' : `m${at}` },
    })),
  ),
})

/** A limiter of which the first `spent` models are, once its scripts are loaded for lists of this length. */
async function spending(count: number, spent: number): Promise<Limiter> {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store: own.store(), policies: POLICIES, clock })
  await limiter.check({ tenant: 'warm' }, listOf(count))
  await reserve(limiter, { tenant: 'warm' }, listOf(count))
  for (let at = 0; at < spent; at += 1) {
    for (const _ of [1, 2]) await limiter.check({ ...TENANT, model: `m${at}` })
  }
  // The first of the day has been, as of most decisions.
  await limiter.check({ ...TENANT, model: 'other' })
  clock.advance(1)
  return limiter
}

const measure = (act: () => Promise<unknown>): Promise<Metered> => own.meter.measure(act)

describe.each([3, 64])('of %i choices', (count) => {
  it('the first that fits costs what it costs alone', async () => {
    const alone = await spending(count, 0)
    await alone.check({ tenant: 'warm', model: 'm0' })
    const single = await measure(() => alone.check({ ...TENANT, model: 'm0' }))
    const limiter = await spending(count, 0)
    let choice: number | undefined
    const chosen = await measure(async () => {
      ;({ choice } = await limiter.check(TENANT, listOf(count)))
    })
    expect(choice).toBe(0)
    expect(Object.fromEntries(chosen.calls)).toEqual(Object.fromEntries(single.calls))
  })

  it('the last that fits reads what all share once, and writes what it writes alone', async () => {
    const alone = await spending(count, count - 1)
    await alone.check({ tenant: 'warm', model: 'm0' })
    const denied = await measure(() => alone.check({ ...TENANT, model: 'm0' }))
    const single = await measure(() => alone.check({ ...TENANT, model: `m${count - 1}` }))
    const limiter = await spending(count, count - 1)
    let choice: number | undefined
    const chosen = await measure(async () => {
      ;({ choice } = await limiter.check(TENANT, listOf(count)))
    })
    expect(choice).toBe(count - 1)
    expect(callsOf(chosen, WRITING)).toEqual(callsOf(single, WRITING))
    expect(chosen.writes).toBe(single.writes)
    const windows = (denied.calls.get('zrange') ?? 0) * (count - 1)
    expect(Object.fromEntries(chosen.calls)).toEqual({
      ...Object.fromEntries(single.calls),
      zrange: windows + (single.calls.get('zrange') ?? 0),
    })
    expect(chosen.calls.get('get')).toBe(1)
  })

  it('a denial reads what all share once, and writes nothing', async () => {
    const limiter = await spending(count, count)
    await limiter.check({ tenant: 'warm', model: 'm0' })
    const single = await measure(() => limiter.check({ ...TENANT, model: 'm0' }))
    const denied = await measure(() => limiter.check(TENANT, listOf(count)))
    expect(denied.writes).toBe(0)
    expect(Object.fromEntries(denied.calls)).toEqual({
      ...Object.fromEntries(single.calls),
      zrange: (single.calls.get('zrange') ?? 0) * count,
    })
  })

  it('that are one key, each command is sent once', async () => {
    const limiter = await spending(count, 1)
    await limiter.check({ tenant: 'warm', model: 'm0' })
    const single = await measure(() => limiter.check({ ...TENANT, model: 'm0' }))
    const denied = await measure(() => limiter.check(TENANT, listOf(count, true)))
    expect(Object.fromEntries(denied.calls)).toEqual(Object.fromEntries(single.calls))
  })

  it('a reservation writes one mark', async () => {
    const alone = await spending(count, count - 1)
    await reserve(alone, { tenant: 'warm', model: 'm0' })
    const single = await measure(() => reserve(alone, { ...TENANT, model: `m${count - 1}` }))
    const limiter = await spending(count, count - 1)
    const reserved = await measure(() => reserve(limiter, TENANT, listOf(count)))
    expect(callsOf(reserved, WRITING)).toEqual(callsOf(single, WRITING))
    expect(reserved.writes).toBe(single.writes)
  })

  it('a reservation with maxShare is one call, too', async () => {
    const limiter = await spending(count, count - 1)
    await reserve(limiter, { tenant: 'warm', model: 'm0' })
    const reserved = await measure(async () => {
      const { choice } = await reserve(limiter, TENANT, { ...listOf(count), maxShare: 0.9 })
      expect(choice).toBe(count - 1)
    })
    expect(reserved.calls.get('evalsha')).toBe(1)
  })
})
