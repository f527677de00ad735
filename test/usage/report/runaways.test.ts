import { dailyCap, definePlans, manualClock, slidingWindow } from '@sluice/core'
import { PLAN_TIERS } from '@sluice/core/plans'
import { reserve } from '@sluice/core/reservations'
import { findings, usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { MIDNIGHT, MINUTE } from '../../support/times.ts'
import { recording } from '../support.ts'

type Set = ReturnType<typeof recording>

const foundIn = async ({ limiter }: Set, tenant: string) =>
  findings({ hours: await usage(limiter, { from: MIDNIGHT }) }).filter(
    (finding) => finding.tenant === tenant,
  )

describe('a client that asks at once after each denial', () => {
  it('is named in its first minutes, without a usual hour to compare', async () => {
    const set = recording([
      slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] }),
    ])
    for (let call = 0; call < 260; call += 1) await set.limiter.check({ tenant: 'growth-1' })
    const [found, ...others] = await foundIn(set, 'growth-1')
    expect(others).toEqual([])
    expect(found).toMatchObject({
      kind: 'retry-storm',
      evidence: { denied: 200, requests: 260, usual: 0, minutes: 15 },
    })
    expect(found?.text).toBe(
      'growth-1 was denied 200 requests of 260 in the 15 minutes from 15 January, 12:00, where 0 an hour are usual: its client retries without waiting.',
    )
  })

  it('is named although it was quiet in the same hour before', async () => {
    const clock = manualClock(MIDNIGHT)
    const set = recording(
      [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })],
      { clock },
    )
    for (let minute = 0; minute < 45; minute += 1) {
      for (let call = 0; call < 5; call += 1) await set.limiter.check({ tenant: 'acme' })
      clock.advance(MINUTE)
    }
    for (let call = 0; call < 260; call += 1) await set.limiter.check({ tenant: 'acme' })
    expect(await foundIn(set, 'acme')).toMatchObject([
      { kind: 'retry-storm', evidence: { from: MIDNIGHT + 45 * MINUTE, minutes: 15, denied: 200 } },
    ])
  })
})

describe('a scraper round the clock', () => {
  const policies = [
    slidingWindow({
      name: 'rpm',
      limit: ({ plan }) => plan.rpm ?? 0,
      window: '1m',
      per: ['tenant'],
    }),
    dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily ?? 0, per: ['tenant'] }),
  ]

  describe.each(Object.keys(PLAN_TIERS) as (keyof typeof PLAN_TIERS)[])(
    'of the plan %s',
    (plan) => {
      it.each([0, 20, 59])(
        'is named after 24 hours near the cap of its day, from minute %i',
        async (at) => {
          const clock = manualClock(MIDNIGHT + at * MINUTE)
          const set = recording(policies, {
            clock,
            plans: definePlans(PLAN_TIERS),
          })
          const perQuarter = (0.95 * PLAN_TIERS[plan].daily) / 96
          const hoursUntilNamed = async (): Promise<number> => {
            for (let quarter = 1; quarter <= 100; quarter += 1) {
              const request =
                Math.floor(quarter * perQuarter) - Math.floor((quarter - 1) * perQuarter)
              await set.limiter.check({ tenant: 'scraper', plan }, { cost: { request } })
              clock.advance(15 * MINUTE)
              const found = quarter > 80 ? await foundIn(set, 'scraper') : []
              if (found.some(({ kind }) => kind === 'abnormal-usage')) return quarter / 4
            }
            return Infinity
          }
          expect(await hoursUntilNamed()).toBeLessThanOrEqual(24)
          const [found] = await foundIn(set, 'scraper')
          expect(found).toMatchObject({
            kind: 'abnormal-usage',
            evidence: { policy: 'daily', limit: PLAN_TIERS[plan].daily, hours: 24 },
          })
        },
      )
    },
  )

  it.each([40, 55, 100])('is named with pauses of 20 minutes after each %i', async (busy) => {
    const clock = manualClock(MIDNIGHT)
    const policy = slidingWindow({ name: 'rpm', limit: 10, window: '1m', per: ['tenant'] })
    const set = recording([policy], { clock })
    for (let minute = 0; minute < 25 * 60; minute += 1) {
      const calls = minute % (busy + 20) >= busy ? 0 : minute % 2 === 0 ? 9 : 10
      for (let call = 0; call < calls; call += 1) await set.limiter.check({ tenant: 'scraper' })
      clock.advance(MINUTE)
    }
    expect(await foundIn(set, 'scraper')).toMatchObject([{ kind: 'abnormal-usage' }])
  })
})

/** A day and a half of ten tenants with $1 each quarter-hour, and then 15 minutes of a runaway. */
async function runaway(tenant: string, dollars: number, offset: number): Promise<Set> {
  const clock = manualClock(MIDNIGHT)
  const policy = dailyCap({ name: 'usd', unit: 'usd', limit: 1_000_000_000_000, per: ['tenant'] })
  const set = recording([policy], { clock })
  const quarter = async (): Promise<void> => {
    for (let index = 0; index < 10; index += 1)
      await set.limiter.check({ tenant: `t${index}` }, { cost: { usd: 1_000_000 } })
  }
  for (let done = 0; done < 36 * 4; done += 1) {
    await quarter()
    clock.advance(15 * MINUTE)
  }
  clock.advance(offset * MINUTE)
  for (let minute = 0; minute < 15; minute += 1) {
    if ((offset + minute) % 15 === 0) await quarter()
    const cost = { usd: Math.round((dollars * 1_000_000) / 30) }
    for (let call = 0; call < 2; call += 1) await set.limiter.check({ tenant }, { cost })
    clock.advance(MINUTE - 1)
  }
  return set
}

describe('a runaway', () => {
  const OFFSETS = [0, 7, 14, 38, 45, 52, 59]

  it.each(OFFSETS)(
    'that is new, with four fifths of all, is named within 15 minutes, from minute %i',
    async (at) => {
      const set = await runaway('newcomer', 41, at)
      const [found] = await foundIn(set, 'newcomer')
      expect(found).toMatchObject({
        kind: 'runaway',
        evidence: { measure: 'usd', largestBefore: 0 },
      })
      expect(found?.text).toMatch(/^newcomer used \d+ % of all dollars in the \d+ minutes from /)
    },
  )

  it.each(OFFSETS)(
    'that is known, at 19 times all, is named within 15 minutes, from minute %i',
    async (at) => {
      const set = await runaway('t3', 190, at)
      expect(await foundIn(set, 't3')).toMatchObject([
        {
          kind: 'runaway',
          evidence: { measure: 'usd', largestBefore: 4_000_000, usualOfAll: 40_000_000 },
        },
      ])
    },
  )
})

it('quarters of an hour add up to it, with settlements where their calls began', async () => {
  const clock = manualClock(MIDNIGHT)
  const policy = slidingWindow({
    name: 'tpm',
    unit: 'token',
    limit: 1_000,
    window: '1m',
    per: ['tenant'],
  })
  const { limiter } = recording([policy], { clock })
  const call = await reserve(limiter, { tenant: 'acme' }, { cost: { token: 500 } })
  await limiter.check({ tenant: 'acme' }, { cost: { token: 900 } })
  clock.advance(46 * MINUTE)
  await limiter.check({ tenant: 'acme' }, { cost: { token: 30 } })
  if (call.allowed) await call.settle({ token: 200 })
  const { rows, quarters } = await usage(limiter)
  const counts = (of: typeof rows = []) =>
    of.map(({ start, outcome, requests, tokens }) => [
      (start - MIDNIGHT) / MINUTE,
      outcome,
      requests,
      tokens,
    ])
  expect(counts(rows)).toEqual([
    [0, 'allowed', 2, 230],
    [0, 'denied', 1, 900],
  ])
  expect(counts(quarters)).toEqual([
    [0, 'allowed', 1, 200],
    [0, 'denied', 1, 0],
    [45, 'allowed', 1, 30],
  ])
  expect((await usage(limiter, { by: 'day' })).quarters).toBeUndefined()
})
