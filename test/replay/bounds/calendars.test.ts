import { dailyCap, fixedWindow, monthlyCap, slidingWindow } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { describe, expect, it } from 'vitest'
import { Random } from '../../world/random.ts'
import { monthOf } from '../month.ts'
import { boundsOf, broken, limited, NOTHING, sumOf, truthOf } from './support.ts'

const common = { name: 'quota', limit: 60, per: ['tenant'] } as const
const rpm = slidingWindow({ name: 'rpm', limit: 15, window: '1m', per: ['tenant'] })

const CALENDARS = {
  // Clocks are set back within the month.
  'days in Berlin': dailyCap({ ...common, resets: calendar({ zone: 'Europe/Berlin' }) }),
  'days that begin within an hour': dailyCap({
    ...common,
    resets: calendar({ zone: 'Asia/Kathmandu' }),
  }),
  'weeks from Friday on': fixedWindow({
    ...common,
    resets: calendar({ every: 'week', zone: 'America/New_York', on: { weekday: 'friday' } }),
  }),
  'months from the 15th on': monthlyCap({ ...common, resets: calendar({ on: { day: 15 } }) }),
}

const BY_CLAIM = dailyCap({ ...common, resets: calendar({ zone: ({ zone }) => zone }) })

const calls = monthOf(new Random(1))
const WIDE = [limited('quota', calls.length), limited('quota', calls.length + 1)] as const

describe.each(Object.entries({ ...CALENDARS, 'days by a claim': BY_CLAIM }))(
  'the bounds of a change, with %s,',
  (_, policy) => {
    it.each([
      [[], limited('quota', 20)],
      [limited('quota', 40), limited('quota', 200)],
    ] as const)('hold what it does to the single calls: %#', async (...settings) => {
      const policies = [policy, rpm]
      const { newlyDenied, nowAllowed } = await boundsOf(calls, policies, settings)
      const truth = await truthOf(calls, policies, settings)
      expect(sumOf(truth.newlyDenied).calls + sumOf(truth.nowAllowed).calls).toBeGreaterThan(50)
      expect(broken(newlyDenied, truth.newlyDenied)).toEqual([])
      expect(broken(nowAllowed, truth.nowAllowed)).toEqual([])
    })
  },
)

it.each(Object.entries(CALENDARS))('say for %s that what fits is not denied', async (_, policy) => {
  const { newlyDenied } = await boundsOf(calls, [policy], WIDE)
  expect(newlyDenied).toEqual({ calls: NOTHING, usd: NOTHING, tenants: [] })
})

it('do not know what fits where ends differ between subjects', async () => {
  const { newlyDenied } = await boundsOf(calls, [BY_CLAIM], WIDE)
  expect(newlyDenied.calls.most).toBe(calls.length)
})

it('is one number for days whose midnight is that of an hour', async () => {
  const settings = [limited('quota', 60), limited('quota', 40)] as const
  const policies = [CALENDARS['days in Berlin']]
  const { newlyDenied: truth } = await truthOf(calls, policies, settings)
  const { newlyDenied } = await boundsOf(calls, policies, settings)
  const { calls: number } = sumOf(truth)
  expect(number).toBeGreaterThan(50)
  expect(newlyDenied.calls).toEqual({ least: number, most: number })
})
