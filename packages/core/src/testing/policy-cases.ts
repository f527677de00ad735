import type { Limit } from '../policies/limit.ts'
import type { Policy } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import { lease } from '../leases/lease.ts'
import { leased } from '../leases/leased.ts'
import { fitRange } from '../reservations/fit.ts'
import { reserve } from '../reservations/reserve.ts'
import { createLimiter } from '../limiter/limiter.ts'
import {
  allowedAtOnce,
  chargedPolicies,
  expectExactRetry,
  freshSubject,
  probe,
  remainingUnits,
} from './probe.ts'
import { expectEqual, expectThat, type Cases } from './suite.ts'

/** Makes a policy with this limit, named `tested`. */
export type PolicyMaker = (limit: Limit) => Policy

/** The claims about one policy, with a window of `windowMs` milliseconds. */
export const policyCases = (policyOf: PolicyMaker, windowMs: number): Cases<Store> => ({
  async 'of 25 concurrent checks of a limit of 20, exactly 20 are allowed'(store) {
    expectEqual(await allowedAtOnce(probe(store, [policyOf(20)]), 25), 20, 'Allowed of 25')
  },

  async 'a denial changes nothing'(store) {
    const { spend, check, peek } = probe(store, [policyOf(10)])
    await spend(1, 7)
    const before = await peek()
    for (let time = 0; time < 3; time += 1) expectThat(!(await check(7)).allowed, '7 + 7 of 10')
    expectEqual(await peek(), before, 'After denials')
    await spend(1, 3)
  },

  async 'a cost of 0 always fits, and a limit of 0 allows nothing else'(store) {
    for (const limit of [0, 10]) {
      const { spend, peek } = probe(store, [policyOf(limit)])
      await spend(2, 0)
      expectEqual(remainingUnits(await peek(0)), { tested: limit }, 'Remaining')
    }
    const { reason, retryAfterMs } = await probe(store, [policyOf(0)]).check()
    expectEqual([reason, retryAfterMs], ['cost_exceeds_limit', null], 'At a limit of 0')
  },

  async 'a cost beyond the limit is denied for good'(store) {
    const { reason, retryAfterMs } = await probe(store, [policyOf(10)]).check(11)
    expectEqual([reason, retryAfterMs], ['cost_exceeds_limit', null], 'A cost of 11')
  },

  async 'what remains fits, and one unit more does not'(store) {
    const { check, peek, clock } = probe(store, [policyOf(10)])
    for (const [cost, pause] of HISTORY) {
      await check(cost)
      clock.advance(Math.round(windowMs * pause))
      const units = remainingUnits(await peek())['tested'] ?? 0
      expectThat((await peek(units)).allowed, `${units} units remain, and must fit`)
      expectThat(!(await peek(units + 1)).allowed, `${units} units remain: one more must not fit`)
    }
  },

  async 'retryAfterMs is exact: denied one millisecond before, allowed at it'(store) {
    const target = probe(store, [policyOf(10)])
    for (const [cost, pause] of HISTORY) {
      await target.check(cost)
      target.clock.advance(Math.round(windowMs * pause))
      const units = remainingUnits(await target.peek())['tested'] ?? 0
      if (units < 10) await expectExactRetry(target, units + 1)
    }
    await target.check(10)
    await expectExactRetry(target, 10)
  },

  async "decides by the store's own clock as well"(store) {
    const limiter = createLimiter({ store, policies: [policyOf(10)] })
    const decision = await limiter.check(freshSubject(), { cost: 10 })
    expectEqual(decision.degraded, undefined, 'A decision without an injected clock: degraded')
    expectEqual(chargedPolicies(decision), ['tested'], 'Policies charged')
    expectEqual(remainingUnits(decision), { tested: 0 }, 'Remaining')
  },

  async 'a clock that steps back opens no second budget'(store) {
    const { spend, check, clock } = probe(store, [policyOf(2)])
    clock.advance(windowMs)
    await spend(2)
    for (const back of [1, windowMs / 2, windowMs]) {
      clock.advance(-Math.floor(back))
      expectThat(!(await check()).allowed, 'A check at an earlier time must be denied')
    }
  },
})

/** Costs, and the part of a window that passes after each. */
const HISTORY = [
  [3, 0.013],
  [1, 0.31],
  [5, 0.0001],
  [4, 0.127],
  [7, 0.49],
  [2, 0],
] as const

/** The claims about reservations of one policy. `released` is true if settling gives everything back. */
export const settlingCases = (policyOf: PolicyMaker, released: boolean): Cases<Store> => ({
  async 'what is not used is given back at once'(store) {
    const { limiter, subject, peek } = probe(store, [policyOf(10)])
    const call = await reserve(limiter, subject, { cost: 8 })
    if (!call.allowed) throw new Error('The reservation must be allowed')
    expectEqual(remainingUnits(await peek()), { tested: 2 }, 'Remaining while it is reserved')
    await call.cancel()
    expectEqual((await call.cancel()).applied, false, 'Cancelled again')
    expectEqual(remainingUnits(await peek()), { tested: 10 }, 'Remaining once it is cancelled')
  },

  async "settles by the store's own clock as well"(store) {
    const limiter = createLimiter({ store, policies: [policyOf(10)] })
    for (const request of [0, 9]) {
      const call = await reserve(limiter, freshSubject(), { cost: 5 })
      if (!call.allowed || call.degraded) throw new Error('The reservation must be allowed')
      expectThat((await call.settle({ request })).applied, `Settling at ${request} must be applied`)
    }
  },

  async 'what is used beyond a reservation is charged, even past the limit'(store) {
    const { limiter, subject, peek } = probe(store, [policyOf(10)])
    const call = await reserve(limiter, subject, { cost: 2 })
    if (!call.allowed) throw new Error('The reservation must be allowed')
    await call.settle({ request: 15 })
    expectEqual(remainingUnits(await peek()), { tested: released ? 10 : 0 }, 'Remaining')
  },
})

const RANGE = fitRange({ floor: 1, most: 8, rates: { token: 1_000_000 } })

/** The claims about a cost that grows after `check`, to what is granted or to a leased block. */
export const growingCases = (policyOf: PolicyMaker, canBeLeased: boolean): Cases<Store> => ({
  async 'a range is charged what it is granted, not its floor'(store) {
    const rules = policyOf(10)().map((rule) => Object.freeze({ ...rule, unit: 'token' }))
    const { limiter, subject, peek } = probe(store, [() => rules])
    const call = await reserve(limiter, subject, { cost: { token: 0 }, fit: RANGE })
    expectEqual(call.allowed && call.granted, 8, 'Granted of 8')
    expectEqual(remainingUnits(await peek({ token: 0 })), { tested: 2 }, 'Remaining')
  },

  ...(canBeLeased && {
    async 'of 60 checks of a leased limit of 20, at most 20 are allowed'(store) {
      const { check } = probe(leased(store), [lease(policyOf(20))])
      let allowed = 0
      for (let time = 0; time < 60; time += 1) allowed += Number((await check()).allowed)
      expectThat(allowed > 0 && allowed <= 20, `${allowed} are allowed`)
    },
  }),
})
