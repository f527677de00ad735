/* The denials of a change, of hourly sums: the interval holds its denials of the single calls. */
import {
  dailyCap,
  fixedWindow,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import type { DesiredEntry } from '@sluice/core/configuration'
import { boundDenials, policySet } from '@sluice/replay'
import { describe, expect, it } from 'vitest'
import { Random } from '../../world/random.ts'
import { HOUR, monthOf, streamOf, sumsOf, TENANTS } from '../month.ts'
import { boundsOf, broken, limited, NOTHING, sumOf, truthOf, type Settings } from './support.ts'

const CHANGES = Array.from({ length: 30 }, (_, index) => index + 1)

const POLICIES: readonly Policy[] = [
  slidingWindow({ name: 'rpm', limit: 15, window: '1m', per: ['tenant'] }),
  slidingWindowCounter({ name: 'hourly', limit: 90, window: '1h', per: ['tenant'] }),
  fixedWindow({ name: 'all', limit: 200, window: '6h', per: 'global' }),
  tokenBucket({
    name: 'tokens',
    limit: 4_000,
    window: '1m',
    burst: 12_000,
    unit: 'token',
    per: ['tenant'],
  }),
  dailyCap({ name: 'images', limit: 30, per: ['tenant', 'route'] }),
  dailyCap({ name: 'budget', limit: 600_000, unit: 'usd', per: ['tenant'] }),
]

const LIMITS = { rpm: 15, hourly: 90, all: 200, tokens: 4_000, images: 30, budget: 600_000 }

function settingsOf(random: Random): Settings {
  const entries = new Map<string, DesiredEntry>()
  for (let count = random.whole(1, 3); count > 0; count -= 1) {
    const policy = random.pick(Object.keys(LIMITS)) as keyof typeof LIMITS
    const tenant = policy === 'all' || random.whole(0, 1) === 0 ? undefined : random.pick(TENANTS)
    const limit =
      random.whole(0, 9) === 0 ? 0 : Math.ceil((LIMITS[policy] * random.whole(1, 30)) / 15)
    const settings = { limit, ...(random.whole(0, 5) === 0 && { mode: 'shadow' as const }) }
    const route = policy === 'images' ? { route: 'image' } : {}
    const subject = tenant === undefined ? undefined : { tenant, ...route }
    entries.set(`${policy} ${tenant}`, { policy, subject, settings })
  }
  return [...entries.values()]
}

const daily = (unit: string): Policy =>
  dailyCap({ name: 'daily', limit: 1_000_000_000, unit, per: ['tenant'] })
describe('the bounds of a change, of hourly sums of a month', () => {
  it.each(CHANGES)('hold what it does to the single calls: change %i', async (seed) => {
    const random = new Random(seed)
    const calls = monthOf(random)
    const settings = [random.whole(0, 1) ? [] : settingsOf(random), settingsOf(random)] as const
    const { newlyDenied, nowAllowed } = await boundsOf(calls, POLICIES, settings)
    const truth = await truthOf(calls, POLICIES, settings)
    expect(broken(newlyDenied, truth.newlyDenied)).toEqual([])
    expect(broken(nowAllowed, truth.nowAllowed)).toEqual([])
  })

  const random = new Random(1)
  const calls = monthOf(random)
  const all = calls.length
  it('are one number for a cap of calls a day', async () => {
    const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })
    const settings = [limited('daily', 60), limited('daily', 40)] as const
    const { newlyDenied: truth } = await truthOf(calls, [rpm, daily('request')], settings)
    const { newlyDenied } = await boundsOf(calls, [rpm, daily('request')], settings)
    const { calls: number } = sumOf(truth)
    expect(number).toBeGreaterThan(100)
    expect(newlyDenied.calls).toEqual({ least: number, most: number })
    for (const { tenant, calls: own } of newlyDenied.tenants) {
      expect(own).toEqual({ least: truth.get(tenant)?.calls, most: truth.get(tenant)?.calls })
    }
    expect(broken(newlyDenied, truth)).toEqual([])
  })

  it('are as wide as the hour in which a budget of a day is reached', async () => {
    const settings = [[], limited('daily', 300_000)] as const
    const { newlyDenied: truth } = await truthOf(calls, [daily('usd')], settings)
    const { newlyDenied } = await boundsOf(calls, [daily('usd')], settings)
    expect(broken(newlyDenied, truth)).toEqual([])
    const { usd } = sumOf(truth)
    expect(newlyDenied.usd.least).toBeGreaterThan(usd * 0.9)
    expect(newlyDenied.usd.most).toBeLessThan(usd * 1.5)
    expect(newlyDenied.calls.least).toBeGreaterThan(0)
    expect(newlyDenied.calls.most).toBeLessThan(all)
  })

  it('are zero for tenants that a change does not reach, and for a limit above the calls of an hour', async () => {
    const rpm = slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })
    const { newlyDenied } = await boundsOf(calls, [rpm], [[], limited('rpm', 1, 'b')])
    expect(newlyDenied.tenants.map(({ tenant }) => tenant)).toEqual(['b'])
    const wide = await boundsOf(calls, [rpm], [limited('rpm', 1_000), limited('rpm', 100)])
    expect(wide.newlyDenied).toEqual({ calls: NOTHING, usd: NOTHING, tenants: [] })
  })

  it('have a least where an hour has more calls than its minutes allow', async () => {
    const rpm = slidingWindow({ name: 'rpm', limit: 500, window: '20m', per: ['tenant'] })
    const settings = [[], limited('rpm', 5)] as const
    const { newlyDenied } = await boundsOf(calls, [rpm], settings)
    expect(newlyDenied.calls.least).toBeGreaterThan(all / 4)
    expect(newlyDenied.calls.most).toBeLessThan(all)
    const truth = await truthOf(calls, [rpm], settings)
    expect(broken(newlyDenied, truth.newlyDenied)).toEqual([])
  })

  it('hold for windows that begin within an hour', async () => {
    const odd = fixedWindow({ name: 'odd', limit: 500, window: '90m', per: ['tenant'] })
    const settings = [[], limited('odd', 20)] as const
    // All of them are in the window from half past one to three.
    const few = Array.from({ length: 30 }, (_, index) => {
      const at = Date.UTC(2026, 9, 1, index < 15 ? 1 : 2, index < 15 ? 45 : 15)
      return { at, line: index + 1, subject: { tenant: 'a' }, units: { usd: 5 }, status: 200 }
    })
    const { newlyDenied } = await boundsOf(few, [odd], settings)
    const truth = await truthOf(few, [odd], settings)
    expect(sumOf(truth.newlyDenied)).toEqual({ calls: 10, usd: 50 })
    expect(broken(newlyDenied, truth.newlyDenied)).toEqual([])
  })

  describe.each([
    ['a session of 5 hours', { length: '5h' }],
    ['a session of 5 hours with pauses', { length: '5h', idle: '90m' }],
    ['a session that is longer than a day', { length: '30h' }],
    ['a session of minutes', { length: '20m' }],
  ] as const)('of %s', (_, options) => {
    const session = sessionWindow({ name: 'session', limit: 60, per: ['tenant'], ...options })
    const rpm = slidingWindow({ name: 'rpm', limit: 15, window: '1m', per: ['tenant'] })
    const budget = dailyCap({ name: 'budget', limit: 600_000, unit: 'usd', per: ['tenant'] })

    it.each([
      [[], limited('session', 20)],
      [limited('budget', 60_000), limited('session', 200)],
    ] as const)('hold for change %#', async (...settings) => {
      const policies = [session, rpm, budget]
      const { newlyDenied, nowAllowed } = await boundsOf(calls, policies, settings)
      const truth = await truthOf(calls, policies, settings)
      expect(broken(newlyDenied, truth.newlyDenied)).toEqual([])
      expect(broken(nowAllowed, truth.nowAllowed)).toEqual([])
    })
  })

  it('say that a session of a length denies none of what fits, and some of what does not', async () => {
    const session = sessionWindow({ name: 'session', limit: 5, per: ['tenant'], length: '5h' })
    const { newlyDenied } = await boundsOf(calls, [session], [[], limited('session', 1)])
    expect(newlyDenied.calls.least).toBeGreaterThan(0)
    const wide = [limited('session', all), limited('session', all + 1)] as const
    const { newlyDenied: none } = await boundsOf(calls, [session], wide)
    expect(none).toEqual({ calls: NOTHING, usd: NOTHING, tenants: [] })
  })

  it('name the policy that may deny most, and since when', async () => {
    const { newlyDenied } = await boundsOf(calls, POLICIES, [[], limited('images', 0)])
    expect(newlyDenied.tenants[0]).toMatchObject({
      policy: 'images',
      since: expect.stringMatching(/^2026-10-01T\d\d:00:00\.000Z$/) as string,
    })
  })

  it('refuse rows whose periods overlap, and other policies', async () => {
    const set = policySet('set', { policies: POLICIES })
    const other = policySet('other', { policies: POLICIES.slice(1) })
    const sums = sumsOf(calls)
    await expect(boundDenials(streamOf(sums), 2 * HOUR, [set, set])).rejects.toThrow(
      /^Sluice: usagePeriod: must be the time that each row covers: line \d+ begins before/,
    )
    await expect(boundDenials(streamOf(sums), HOUR, [set, other])).rejects.toThrow(
      'sets: must have the same policies',
    )
  })
})
