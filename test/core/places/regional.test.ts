import {
  ConfigError,
  concurrency,
  createLimiter,
  dailyCap,
  manualClock,
  slidingWindow,
  type Decision,
  type Store,
} from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { regional } from '@sluice/core/regional'
import { release, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { overTcp } from '../../support/tcp-clients.ts'
import { callsOf, Watched } from '../../support/watched-store.ts'
import { limiterIn, allowedOf, BUDGET, BURST, DAILY, LIMIT, per } from './regions.ts'

const clients: ReturnType<typeof overTcp>[] = []
beforeAll(() => {
  for (const index of [1, 2, 3])
    clients.push(overTcp('ioredis 5', `${inject('redisUrl')}/${index}`))
})
afterAll(() => {
  for (const { close } of clients) close()
})

/** Makes home and two regions. */
const REGIONS: Record<string, () => readonly Store[]> = {
  memory: () => [memory(), memory(), memory()],
  'three databases': () => {
    const prefix = freshPrefix()
    return clients.map(({ make }) => make(prefix))
  },
}

describe.each(Object.entries(REGIONS))('a limit over regions, in %s', (...[, make]) => {
  it('is never exceeded by all of them, and hardly left unused', async () => {
    const [home, west, east] = make() as [Store, Store, Store]
    const processes = [west, west, east, east, home].map((here) => limiterIn(home, here, [DAILY]))
    const decisions: Decision[] = []
    for (let round = 0; round < 10; round += 1) {
      const checks = processes.flatMap((limiter) =>
        Array.from({ length: 15 }, () => limiter.check(ACME)),
      )
      decisions.push(...(await Promise.all(checks)))
    }
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    expect(allowedOf(decisions)).toBeLessThanOrEqual(LIMIT)
    expect(allowedOf(decisions)).toBeGreaterThan(LIMIT * 0.9)
  })

  it('is reserved and settled in each, to the dollar', async () => {
    const [home, west, east] = make() as [Store, Store, Store]
    const limiters = [west, east].map((here) => limiterIn(home, here, [BUDGET]))
    let spent = 0
    for (let call = 0; call < 60; call += 1) {
      const made = await reserve(limiters[call % 2]!, ACME, { cost: { usd: 400_000 } })
      if (!made.allowed) continue
      // Some need more than was estimated.
      const used = call % 10 === 9 ? 700_000 : 100_000
      await made.settle({ usd: used })
      spent += used
    }
    // All have been settled, so what is left is the limit less what was spent.
    const [first] = limiters
    expect(spent).toBeGreaterThan(8_000_000)
    const states = (await first!.peek(ACME, { cost: { usd: 1 } })).policies
    expect(states[0]!.remaining).toBeLessThanOrEqual(Math.max(0, 10_000_000 - spent))
  })

  it('counts what is named perRegion in each by itself', async () => {
    const [home, west, east] = make() as [Store, Store, Store]
    for (const here of [west, east]) {
      const limiter = limiterIn(home, here, [BURST, DAILY], ['burst'])
      const decisions: Decision[] = []
      for (let call = 0; call < 8; call += 1) decisions.push(await limiter.check(ACME))
      expect(allowedOf(decisions)).toBe(5)
      expect(decisions[7]).toMatchObject({ place: 'here', violated: { name: 'burst' } })
    }
  })
})

it('a reservation of what a region counts by itself is released there', async () => {
  const clock = manualClock(NOON)
  const store = regional({ home: memory(), here: memory(), perRegion: ['burst'] })
  const limiter = createLimiter({ store, policies: [BURST], clock })
  const options = { cost: 3, unsettled: release(), settleWithin: '1m' } as const
  expect((await reserve(limiter, ACME, options)).allowed).toBe(true)
  clock.advance(60_000)
  expect(await sweepUnsettled(limiter, ACME)).toBe(1)
  expect((await limiter.check(ACME, { cost: 5 })).allowed).toBe(true)
})

describe('the calls of a region', () => {
  it('go home for blocks only, and here for what it counts by itself', async () => {
    const [home, here] = [new Watched(memory()), new Watched(memory())]
    const wide = slidingWindow({ name: 'wide', limit: 1_000, window: '1h', per })
    const limiter = limiterIn(home, here, [wide, DAILY], ['wide'])
    const act = async (): Promise<void> => {
      for (let call = 0; call < 200; call += 1) await limiter.check(ACME)
    }
    const homeCalls = await callsOf(home, () =>
      callsOf(here, act).then((calls) => {
        expect(calls).toMatchObject({ decisions: 200, reads: 0, writes: 0 })
      }),
    )
    expect(homeCalls.decisions).toBeLessThan(20)
    expect(homeCalls).toMatchObject({ reads: 0, writes: 0 })
  })

  it('keep settings in home, for all regions', async () => {
    const stores = [new Watched(memory()), new Watched(memory()), new Watched(memory())] as const
    const [home, west, east] = stores
    const limiterOf = (here: Store) =>
      createLimiter({
        store: regional({ home, here, perRegion: ['burst'] }),
        policies: [BURST, DAILY],
        extensions: [runtimeConfiguration({ allow: { burst: ['limit'] } })],
      })
    await configure(limiterOf(west), { burst: { limit: 2 } })
    const limiter = limiterOf(east)
    const decisions: Decision[] = []
    for (let call = 0; call < 4; call += 1) decisions.push(await limiter.check(ACME))
    expect(allowedOf(decisions)).toBe(2)
    expect([west.calls.writes, east.calls.writes]).toEqual([0, 0])
  })
})

describe('a policy of which nobody has said who counts it', () => {
  const plain = dailyCap({ name: 'plain', limit: 5, per })
  const stores = { home: memory(), here: memory() }
  it.each([
    ['is refused', [], [plain], /perRegion: must have "plain".*or lease it, as lease\(plain\)/],
    [
      'cannot be counted twice',
      ['daily'],
      [DAILY],
      /perRegion: must not have "daily", which is leased/,
    ],
    [
      'is refused if it cannot be leased',
      [],
      [concurrency({ name: 'calls', limit: 5, per })],
      /perRegion: must have "calls", which each region then counts by itself( \(|$)/,
    ],
  ])('%s', (_, perRegion, policies, message) => {
    const create = () => createLimiter({ store: regional({ ...stores, perRegion }), policies })
    expect(create).toThrow(message)
    expect(create).toThrow(ConfigError)
  })

  it.each([
    ['no options', undefined, /regional: /],
    ['no home', { here: memory() }, /regional\.home/],
    ['no store here', { home: memory(), here: {} }, /regional\.here/],
    ['a name instead of a list', { ...stores, perRegion: 'burst' }, /regional\.perRegion/],
    ['a number as a name', { ...stores, perRegion: [3] }, /regional\.perRegion/],
    ['an unknown option', { ...stores, there: memory() }, /there/],
  ])('options are validated: %s', (_, options, message) => {
    expect(() => regional(options as never)).toThrow(message)
  })
})
