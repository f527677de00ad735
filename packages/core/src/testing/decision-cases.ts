import type { Store } from '../stores/store.ts'
import { InputError } from '../errors.ts'
import { fixedWindow } from '../policies/fixed-window.ts'
import { slidingWindow } from '../policies/sliding-window.ts'
import { slidingWindows } from '../policies/sliding-windows.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import { chargedPolicies, freshSubject, probe, remainingUnits } from './probe.ts'
import { expectEqual, expectThat, type Cases } from './suite.ts'

type Options = { name?: string; limit?: number; mode?: 'shadow'; routes?: string[] }

const hourly = ({ name = 'hour', limit = 10, ...rest }: Options = {}) =>
  fixedWindow({ name, limit, window: '1h', per: ['tenant'], ...rest })
const sliding = ({ name = 'minute', limit = 10, ...rest }: Options = {}) =>
  slidingWindow({ name, limit, window: '1m', per: ['tenant'], ...rest })
const bucket = ({ name = 'bucket', limit = 10, ...rest }: Options = {}) =>
  tokenBucket({ name, limit, window: '1m', per: ['tenant'], ...rest })

const MOST_UNITS = 100_000_000_000_000

/** The claims about decisions. */
export const decisionCases: Cases<Store> = {
  async 'allows as much as the limit, and reports what remains'(store) {
    const { check } = probe(store, [hourly({ limit: 3 })])
    for (const left of [2, 1, 0])
      expectEqual(remainingUnits(await check()), { hour: left }, 'Remaining')
    const { allowed, reason, violated } = await check()
    expectEqual([allowed, reason, violated?.name], [false, 'rate_limit_exceeded', 'hour'], 'Denial')
  },

  async 'charges all policies or none, whichever of them denies'(store) {
    const exhausted = sliding({ name: 'exhausted', limit: 1 })
    for (const policies of [
      [exhausted, hourly(), bucket()],
      [hourly(), exhausted, bucket()],
      [hourly(), bucket(), exhausted],
    ]) {
      const { spend, check, peek } = probe(store, policies)
      await spend(1)
      const denied = await check()
      expectEqual(
        [denied.allowed, chargedPolicies(denied)],
        [false, []],
        'A denial charges nothing',
      )
      const { exhausted: left, ...others } = remainingUnits(await peek())
      expectEqual(left, 0, 'The policy that denies')
      for (const units of Object.values(others)) expectEqual(units, 9, 'A policy that would allow')
    }
  },

  async 'peek charges nothing'(store) {
    const { peek } = probe(store, [hourly({ limit: 1 })])
    for (let time = 0; time < 3; time += 1) {
      expectEqual(chargedPolicies(await peek()), [], 'Policies that a peek charges')
      expectEqual(remainingUnits(await peek()), { hour: 1 }, 'Remaining')
    }
  },

  async 'a shadow denies nothing, and is charged only for what fits it'(store) {
    const policies = [sliding({ name: 'shadow', limit: 1, mode: 'shadow' }), hourly({ limit: 2 })]
    const { check } = probe(store, policies)
    expectEqual(chargedPolicies(await check()), ['shadow', 'hour'], 'What fits both')
    const second = await check()
    expectEqual(second.allowed, true, 'What does not fit the shadow is allowed')
    expectEqual(chargedPolicies(second), ['hour'], 'What does not fit the shadow')
    expectEqual(chargedPolicies(await check()), [], 'What another policy denies')
  },

  async 'a shadow is not charged for what another policy denies'(store) {
    const policies = [sliding({ name: 'shadow', limit: 5, mode: 'shadow' }), hourly({ limit: 1 })]
    const { check, peek } = probe(store, policies)
    await check()
    await check()
    expectEqual(remainingUnits(await peek()), { shadow: 4, hour: 0 }, 'Remaining')
  },

  async "a tenant's requests never touch another's budget, whatever their names"(store) {
    const { check, peek } = probe(store, [hourly({ limit: 1 })])
    const { tenant } = freshSubject()
    const names = [
      'a',
      'A',
      'a:b',
      'a%3Ab',
      'a*',
      '{a}',
      ' a',
      '__proto__',
      'constructor',
      'é',
      '🙂',
    ]
    const subjects = names.map((name) => ({ tenant: `${tenant}${name}` }))
    for (const subject of [...subjects, { tenant: 'x'.repeat(300) + tenant }]) {
      expectThat((await peek(1, subject)).allowed, 'A new tenant must have a budget of its own')
      expectThat((await check(1, subject)).allowed, 'A new tenant must have a budget of its own')
    }
  },

  async 'counts the largest costs to the unit'(store) {
    const { spend, check } = probe(store, [
      hourly({ limit: MOST_UNITS }),
      sliding({ limit: MOST_UNITS }),
    ])
    await spend(1, MOST_UNITS - 1)
    await spend(1)
    expectThat(!(await check()).allowed, 'A unit beyond 10^14 must be denied')
  },

  async 'a cost that is not a whole number throws, and charges nothing'(store) {
    const { check, peek } = probe(store, [hourly()])
    for (const cost of [Number.NaN, -1, 0.5, Infinity, MOST_UNITS + 1]) {
      const error: unknown = await check(cost).catch((thrown: unknown) => thrown)
      expectThat(error instanceof InputError, `A cost of ${cost} must throw an InputError`)
    }
    expectEqual(remainingUnits(await peek()), { hour: 10 }, 'Remaining')
  },

  async 'policies that take no part are not charged'(store) {
    const policies = [sliding({ routes: ['other'] }), hourly(), bucket({ routes: ['here'] })]
    const { check, subject } = probe(store, policies)
    const here = await check(2, { ...subject, route: 'here' })
    expectEqual(remainingUnits(here), { hour: 8, bucket: 8 }, 'Remaining')
    const other = await check(3, { ...subject, route: 'other' })
    expectEqual(remainingUnits(other), { minute: 7, hour: 5 }, 'Remaining')
  },

  async 'policies that count in one key charge it once'(store) {
    const windows = {
      minute: { limit: 3, window: '1m' },
      hour: { limit: 5, window: '1h' },
    } as const
    const { spend, check, clock } = probe(store, [
      slidingWindows({ name: 'log', per: ['tenant'], windows }),
    ])
    await spend(3)
    expectEqual((await check()).violated?.name, 'log.minute', 'The window that denies')
    clock.advance(60_000)
    await spend(2)
    expectEqual((await check()).violated?.name, 'log.hour', 'The window that denies')
  },
}
