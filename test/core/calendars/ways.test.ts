import {
  createLimiter,
  dailyCap,
  localShare,
  slidingWindow,
  rollout,
  StoreError,
  type Policy,
  type Store,
} from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { calendar } from '@sluice/core/calendars'
import { explain } from '@sluice/core/explain'
import { cancelById, fitRange, release, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { expect, describe, it } from 'vitest'
import { countAllowed } from '../../support/decisions.ts'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { HOUR, MINUTE } from '../../support/times.ts'
import { mustReserve } from '../reservations/support.ts'
import { storesOfAll, withClock } from './support.ts'

const resets = calendar({ zone: 'Europe/Berlin' })
const common = { name: 'daily', limit: 10, per: ['tenant'], resets } as const
const BEFORE = Date.parse('2026-06-01T21:00Z')

const at = (store: Store, policy: Policy = dailyCap(common)) => {
  const set = setUp([policy], { store })
  set.clock.set(BEFORE)
  return set
}

describe.each(Object.entries(storesOfAll()))('a calendar in %s', (_, make) => {
  it('gives back what is cancelled by its id, and what nobody settles', async () => {
    const { limiter, clock } = at(make())
    const unsettled = release()
    const call = await mustReserve(limiter, ACME, { cost: 4, unsettled, settleWithin: '1m' })
    const { id } = call.toJSON()
    await cancelById(limiter, ACME, { id, cost: 4 })
    expect((await limiter.peek(ACME)).policies[0]?.remaining).toBe(10)
    await mustReserve(limiter, ACME, { cost: 4, unsettled, settleWithin: '1m' })
    clock.advance(MINUTE)
    expect(await sweepUnsettled(limiter, ACME)).toBe(1)
    expect((await limiter.peek(ACME)).policies[0]?.remaining).toBe(10)
  })

  it('grants what is left of its day, and all of the next', async () => {
    const { limiter, clock } = at(make(), dailyCap({ ...common, unit: 'token' }))
    await limiter.check(ACME, { cost: { token: 7 } })
    const fit = fitRange({ floor: 1, most: 8, rates: { token: 1_000_000 } })
    const granted = async () => {
      const decision = await reserve(limiter, ACME, { cost: { token: 0 }, fit })
      return decision.allowed ? decision.granted : 0
    }
    expect(await granted()).toBe(3)
    clock.advance(HOUR)
    expect(await granted()).toBe(8)
  })

  it('counts in stripes, each of which ends with the day', async () => {
    const { limiter, clock } = at(make(), dailyCap({ ...common, stripes: 2 }))
    for (let day = 0; day < 2; day += 1) {
      const decisions = []
      for (let time = 0; time < 60; time += 1) decisions.push(await limiter.check(ACME))
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
      clock.advance(HOUR)
    }
  })

  it('denies nobody in shadow, and explains the denial it would be', async () => {
    const { limiter } = at(make(), dailyCap({ ...common, rollout: rollout({ enforced: 0 }) }))
    expect(await countAllowed(limiter, ACME, 12)).toBe(12)
    expect((await limiter.peek(ACME)).policies[0]).toMatchObject({ fits: false, resetMs: HOUR })
    expect((await explain(limiter, ACME)).decision).toMatchObject({ allowed: true })
  })
})

describe.each(Object.entries(storesOfAll()))('a calendar beside others in %s', (_, make) => {
  it('counts from the Unix epoch on, before which its first day began', async () => {
    const { limiter, clock } = at(make())
    clock.set(HOUR)
    expect(await limiter.check(ACME)).toMatchObject({
      degraded: undefined,
      policies: [{ remaining: 9 }],
    })
  })

  it('learns the time of the store, wherever its policy stands', async () => {
    const limiter = createLimiter({
      store: withClock(make(), () => BEFORE),
      policies: [
        slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] }),
        dailyCap(common),
      ],
      clock: () => BEFORE + 400 * 24 * HOUR,
    })
    expect((await limiter.check(ACME)).policies[1]).toMatchObject({ charged: true, resetMs: HOUR })
  })

  it('is denied from memory, also at a higher cost, until its day ends', async () => {
    const { limiter, clock } = at(cacheDenials(make()))
    await limiter.check(ACME, { cost: 5 })
    expect((await limiter.check(ACME, { cost: 6 })).allowed).toBe(false)
    expect(await limiter.check(ACME, { cost: 7 })).toMatchObject({
      allowed: false,
      source: 'cache',
    })
    clock.advance(HOUR)
    expect(await limiter.check(ACME, { cost: 7 })).toMatchObject({ allowed: true })
  })
})

const fail = () => Promise.reject(new StoreError('store_unreachable', 'down'))

it('an isolate counts its share of a day while the store fails, and anew in the next', async () => {
  const down: Store = { check: fail, run: fail, reset: fail }
  for (const store of [down, breaker(down)]) {
    const { limiter, clock } = setUp([dailyCap(common)], {
      store,
      onStoreError: localShare(0.5),
      extensions: [collectProblems().listener],
    })
    clock.set(BEFORE)
    expect(await countAllowed(limiter, ACME, 12)).toBe(5)
    clock.advance(HOUR)
    expect(await countAllowed(limiter, ACME, 12)).toBe(5)
  }
})
