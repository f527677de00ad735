import {
  concurrency,
  dailyCap,
  listen,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { memory } from '@sluice/core/memory'
import { release, reserve, sweepUnsettled, type Reservation } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { keysUnder } from '../../support/redis.ts'
import { ownRedis } from '../../support/running-redis.ts'
import { storesOf, type StoreName } from '../../support/stores.ts'

const TOKENS = { unit: 'token', per: ['tenant'] } as const
const POLICIES: Policy[] = [
  slidingWindow({ name: 'rpm', limit: 100, window: '1h', per: ['tenant'] }),
  dailyCap({ name: 'day', limit: 100, ...TOKENS }),
  slidingWindow({ name: 'hour', limit: 100, window: '1h', ...TOKENS }),
  concurrency({ name: 'calls', limit: 10, per: ['tenant'], maxDuration: '1m' }),
]
const FULL = { rpm: 100, day: 100, hour: 100, calls: 10 }
const NAMES: StoreName[] = [
  'memory',
  'redis, built-in transport',
  'embedded engine, built-in transport',
]

/** Reserves tokens that are given back after two minutes. */
async function take(limiter: Parameters<typeof reserve>[0], token: number) {
  return reserve(limiter, ACME, {
    cost: { token },
    settleWithin: '2m',
    unsettled: release(),
  })
}

describe.each(NAMES)('in %s, a reservation that is to be released', (name) => {
  const make = storesOf(name)
  const world = () => {
    const ends: string[] = []
    const listener = listen({
      settled: ({ wasReleased }) => void ends.push(wasReleased ? 'after its release' : 'first'),
      abandoned: () => void ends.push('abandoned'),
    })
    const { limiter, clock } = setUp(POLICIES, { store: make(), extensions: [listener] })
    const left = async () => {
      const cost = { request: 0, token: 0, call: 0 }
      return remaining(await limiter.peek(ACME, { cost }))
    }
    const mustTake = async (token: number): Promise<Reservation> => {
      const decision = await take(limiter, token)
      if (decision.allowed) return decision
      throw new Error(`denied: ${decision.reason}`)
    }
    return { limiter, clock, left, mustTake, ends }
  }

  it.each([undefined, null, 'acme'])('refuses to sweep for %s', async (subject) => {
    const { limiter } = setUp(POLICIES, { store: make() })
    await expect(sweepUnsettled(limiter, subject as never)).rejects.toMatchObject({
      name: 'InputError',
      code: 'invalid_subject',
    })
  })

  it('is settled like any other in time', async () => {
    const { limiter, clock, left, mustTake } = world()
    const call = await mustTake(80)
    expect(await call.settle({ token: 30 })).toMatchObject({ returned: { token: 50 } })
    clock.advance(120_000)
    expect(await sweepUnsettled(limiter, ACME)).toBe(0)
    expect(await left()).toEqual({ ...FULL, rpm: 99, day: 70, hour: 70 })
  })

  it('keeps its charge until its time is over, and is then given back by a sweep, once', async () => {
    const { limiter, clock, left, mustTake } = world()
    await mustTake(80)
    clock.advance(119_999)
    expect(await sweepUnsettled(limiter, ACME)).toBe(0)
    clock.advance(1)
    expect(await sweepUnsettled(limiter, ACME)).toBe(1)
    expect(await left()).toEqual(FULL)
    expect(await sweepUnsettled(limiter, ACME)).toBe(0)
  })

  it('is given back by the next reservation that would be denied', async () => {
    const { limiter, clock, left, mustTake } = world()
    await mustTake(80)
    expect((await take(limiter, 60)).allowed).toBe(false)
    clock.advance(120_000)
    expect(await take(limiter, 60)).toMatchObject({ allowed: true })
    expect(await left()).toMatchObject({ rpm: 99, day: 40, hour: 40, calls: 9 })
  })

  it('is charged what was used if it is settled after that, and reports it as an overrun', async () => {
    const { limiter, clock, left, mustTake } = world()
    const call = await mustTake(80)
    clock.advance(120_000)
    await sweepUnsettled(limiter, ACME)
    expect(await call.settle({ token: 80 })).toEqual({
      applied: true,
      returned: {},
      overrun: { request: 1, token: 80 },
    })
    expect(await left()).toMatchObject({ day: 20, hour: 20 })
    expect((await call.settle({ token: 80 })).applied).toBe(false)
    expect(await left()).toMatchObject({ day: 20, hour: 20 })
  })

  it('tells listeners that it was released before it was settled, whoever released it', async () => {
    const { limiter, clock, mustTake, ends } = world()
    const early = await mustTake(10)
    await early.settle({ token: 5 })
    const late = await mustTake(80)
    clock.advance(120_000)
    const sweeps = [sweepUnsettled(limiter, ACME), sweepUnsettled(limiter, ACME)] as const
    const [first, second] = await Promise.all(sweeps)
    expect(first + second).toBe(1)
    await late.settle({ token: 30 })
    expect(ends).toEqual(['first', 'first', 'after its release'])
  })

  it('can be settled late as long as nobody has released it', async () => {
    const { limiter, clock, left, mustTake } = world()
    const call = await mustTake(80)
    clock.advance(600_000)
    expect(await call.settle({ token: 30 })).toMatchObject({ applied: true })
    expect(await left()).toMatchObject({ day: 70, hour: 70 })
    expect(await sweepUnsettled(limiter, ACME)).toBe(0)
  })

  it('leaves the charges of others alone', async () => {
    const { limiter, clock, left, mustTake } = world()
    await mustTake(40)
    clock.advance(60_000)
    const other = await mustTake(40)
    clock.advance(60_000)
    expect(await sweepUnsettled(limiter, ACME)).toBe(1)
    expect(await sweepUnsettled(limiter, { tenant: 'other' })).toBe(0)
    expect(await left()).toMatchObject({ day: 60, hour: 60 })
    expect(await other.settle({ token: 10 })).toMatchObject({ returned: { token: 30 } })
    expect(await left()).toMatchObject({ day: 90, hour: 90 })
  })

  it('loses nothing if a thousand holders crash', async () => {
    const { limiter, clock, left, mustTake } = world()
    for (let round = 0; round < 10; round += 1) {
      for (let call = 0; call < 10; call += 1) await mustTake(10)
      expect((await take(limiter, 10)).allowed).toBe(false)
      clock.advance(120_000)
      expect((await take(limiter, 100)).allowed).toBe(true)
      clock.advance(120_000)
      expect(await sweepUnsettled(limiter, ACME)).toBe(1)
      expect(await left()).toEqual(FULL)
    }
  })
})

describe('a reservation that is to be released', () => {
  const own = ownRedis()

  it('costs two commands more to reserve and one more to settle, in the same round trips', async () => {
    const policies = [tokenBucket({ name: 'b', limit: 1_000, window: '1m', ...TOKENS })]
    const bill = async (unsettled?: ReturnType<typeof release>) => {
      const { limiter } = setUp(policies, { store: own.store() })
      const call = async (tenant: string) =>
        reserve(limiter, { tenant }, { cost: { token: 5 }, unsettled })
      const warm = await call('warm')
      if (warm.allowed) await warm.settle({ token: 1 })
      let made: Awaited<ReturnType<typeof call>> | undefined
      const reserving = await own.meter.measure(async () => void (made = await call('acme')))
      const settling = await own.meter.measure(async () => {
        if (made?.allowed) await made.settle({ token: 1 })
      })
      return { reserving: reserving.total, settling: settling.total }
    }
    const [kept, released] = [await bill(), await bill(release())]
    expect(released.reserving - kept.reserving).toBe(2)
    expect(released.settling - kept.settling).toBe(1)
  })

  it('leaves no key without an expiry', async () => {
    const { limiter, prefix } = own.setUp(POLICIES)
    await take(limiter, 10)
    const keys = await keysUnder(own.redis, prefix)
    expect(keys.some((key) => key.includes(':open:'))).toBe(true)
    for (const key of keys) expect(await own.redis.pttl(key)).toBeGreaterThan(0)
  })

  it('is denied as it was if the store fails while it looks for dead holders', async () => {
    const store = { ...memory(), run: () => Promise.reject(new Error('down')) }
    const { limiter } = setUp(POLICIES, { store })
    expect((await take(limiter, 80)).allowed).toBe(true)
    expect(await take(limiter, 60)).toMatchObject({ allowed: false, violated: { name: 'day' } })
  })

  it('reports the decision after a sweep alone, and a denial that stands', async () => {
    const reports: string[] = []
    const listener = listen({
      decision: ({ decision, reservation }) =>
        void reports.push(`${decision.allowed} ${typeof reservation}`),
      reserved: () => void reports.push('reserved'),
      shadow: ({ policy }) => void reports.push(policy.name),
    })
    const shadow = dailyCap({ name: 'next', limit: 10, mode: 'shadow', ...TOKENS })
    const { limiter, clock } = setUp([...POLICIES, shadow], { extensions: [listener] })
    await take(limiter, 80)
    await take(limiter, 60)
    clock.advance(120_000)
    await take(limiter, 60)
    const allowed = ['true string', 'next', 'reserved']
    expect(reports).toEqual([...allowed, 'false undefined', 'next', ...allowed])
  })

  it('must be chosen with release()', async () => {
    const { limiter } = setUp(POLICIES)
    // @ts-expect-error -- a text is no choice
    await expect(reserve(limiter, ACME, { unsettled: 'release' })).rejects.toMatchObject({
      code: 'invalid_option',
      option: 'unsettled',
    })
  })
})

it('by a call that falls to a lesser choice, for the next', async () => {
  const policies = [dailyCap({ name: 'day', limit: 10, unit: 'token', per: ['tenant', 'model'] })]
  const { limiter, clock } = setUp(policies, { store: memory() })
  const terms = { settleWithin: '2m', unsettled: release() } as const
  await reserve(limiter, { ...ACME, model: 'a' }, { cost: { token: 6 }, ...terms })
  clock.advance(121_000)
  const cost = { token: 6 }
  const ladder = choices([
    { subject: { model: 'a' }, cost },
    { subject: { model: 'b' }, cost },
  ])
  const work: unknown[] = []
  const waitUntil = (promise: unknown): void => void work.push(promise)
  const fallen = await reserve(limiter, ACME, { choices: ladder, waitUntil, ...terms })
  await Promise.all(work)
  const next = await reserve(limiter, ACME, { choices: ladder, ...terms })
  expect([fallen.choice, next.choice]).toEqual([1, 0])
})
