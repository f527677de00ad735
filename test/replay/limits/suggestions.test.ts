import {
  createLimiter,
  dailyCap,
  definePlans,
  fixedWindow,
  leakyBucket,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
} from '@sluice/core'
import type { Limit, Policy } from '@sluice/core'
import { runtimeConfiguration, type DesiredEntry } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { openLog, policySet, replay, suggestLimits } from '@sluice/replay'
import type { Limits, Suggestion } from '@sluice/replay'
import { describe, expect, it } from 'vitest'
import { KINDS } from '../../support/kinds.ts'
import { write } from '../support.ts'

const PER = ['tenant'] as const
const START = Date.UTC(2026, 2, 1, 12)

/** A log of `n` calls by three tenants and a scraper, the same with the same seed. */
function busyLog(seed: number, n = 120): string {
  let state = seed
  const random = (below: number): number => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  let at = START
  const lines = Array.from({ length: n }, () => {
    at += random(4_000)
    const tenant = ['a', 'b', 'c', 'scraper', 'scraper'][random(5)]
    return `${at},${tenant},${1 + random(9)},${['free', 'pro'][random(2)]}`
  })
  return ['time,tenant,tokens,plan', ...lines].join('\n')
}

async function suggest(text: string, limits: Limits, except?: string[]): Promise<Suggestion> {
  const log = await openLog(write('log.csv', text))
  return suggestLimits(() => log.calls(), policySet('set', limits), { except })
}

/** Counts the denied calls of everybody but the scraper. */
async function deniedOthers(text: string, policy: Policy): Promise<number> {
  const log = await openLog(write('log.csv', text))
  const { sets } = await replay(log.calls(), [policySet('set', { policies: [policy] })])
  const others = sets[0]?.tenants.filter(({ tenant }) => tenant !== 'scraper') ?? []
  return others.reduce((sum, { denied }) => sum + denied.calls, 0)
}

const FACTORIES: Readonly<Record<string, (limit: number) => Policy>> = {
  slidingWindow: (limit) =>
    slidingWindow({ name: 'p', limit, window: '20s', per: PER, unit: 'token' }),
  slidingWindowCounter: (limit) =>
    slidingWindowCounter({ name: 'p', limit, window: '20s', per: PER, unit: 'token' }),
  fixedWindow: (limit) => fixedWindow({ name: 'p', limit, window: '1m', per: PER, unit: 'token' }),
  tokenBucket: (limit) => tokenBucket({ name: 'p', limit, window: '20s', per: PER, unit: 'token' }),
  'tokenBucket with a burst': (limit) =>
    tokenBucket({ name: 'p', limit, burst: 30, window: '20s', per: PER, unit: 'token' }),
  leakyBucket: (limit) =>
    leakyBucket({
      name: 'p',
      limit,
      burst: 30,
      window: '20s',
      per: PER,
      unit: 'token',
      wait: '1s',
    }),
}

/** Settings for everyone and for partitions, with these limits. */
function settings(limits: readonly number[], mode: 'enforce' | 'shadow'): DesiredEntry[] {
  const [everyone, a, bucket, late] = limits as [number, number, number, number]
  return [
    { policy: 'rpm', settings: { limit: everyone, mode } },
    { policy: 'rpm', subject: { tenant: 'a' }, settings: { limit: a, mode } },
    // Nothing is counted of it, so nothing is suggested for it.
    { policy: 'rpm', subject: { tenant: 'scraper' }, settings: { limit: 1, enabled: 0 } },
    { policy: 'bucket', settings: { limit: bucket, burst: 9 } },
    { policy: 'late', settings: { limit: late } },
    { policy: 'late', subject: { tenant: 'b' }, settings: { limit: 'unlimited' } },
  ]
}

describe('the smallest limit that denies nobody but those that you except', () => {
  it.each(Object.entries(FACTORIES))('is exact: %s', async (_, policyOf) => {
    for (const seed of [7, 8]) {
      const text = busyLog(seed)
      const { limits, outcome } = await suggest(text, { policies: [policyOf(5)] }, ['scraper'])
      const [{ limit = 0, isSmallest } = { limit: 0, isSmallest: false }] = limits
      expect(isSmallest).toBe(true)
      expect(limit).toBeGreaterThan(5)
      expect(await deniedOthers(text, policyOf(limit))).toBe(0)
      expect(await deniedOthers(text, policyOf(limit - 1))).toBeGreaterThan(0)
      expect(outcome.normal.hurt).toEqual([])
    }
  })

  it('names the call that needs it', async () => {
    const text = `time,tenant\n${[0, 1, 2, 50].map((s) => `${START + s * 1_000},a`).join('\n')}`
    const policies = [slidingWindow({ name: 'rpm', limit: 60, window: '10s', per: PER })]
    const { limits, readings } = await suggest(text, { policies })
    expect(limits).toEqual([
      {
        policy: 'rpm',
        unit: 'request',
        plan: undefined,
        setting: undefined,
        current: 60,
        limit: 3,
        isSmallest: true,
        heldBy: { tenant: 'a', line: 4, at: '2026-03-01T12:00:02.000Z' },
      },
    ])
    expect(readings).toBe(3)
  })

  it('is found for each plan and policy', async () => {
    const plans = definePlans({ free: { daily: 10, rpm: 5 }, pro: { daily: 'unlimited', rpm: 9 } })
    const policies = [
      dailyCap({ name: 'daily', limit: ({ plan }) => plan['daily'], per: PER }),
      slidingWindow({ name: 'rpm', limit: ({ plan }) => plan['rpm'], window: '1m', per: PER }),
    ]
    const lines = [
      [0, 'a', 'free'],
      [1, 'a', 'free'],
      [2, 'b', 'pro'],
      [100, 'a', 'free'],
    ] as const
    const text = `time,tenant,plan\n${lines.map(([s, ...rest]) => [START + s * 1_000, ...rest].join()).join('\n')}`
    const { limits } = await suggest(text, { policies, plans })
    expect(
      limits.map(({ policy, plan, current, limit }) => [policy, plan, current, limit]),
    ).toEqual([
      ['daily', 'free', 10, 3],
      ['rpm', 'free', 5, 2],
      ['rpm', 'pro', 9, 1],
    ])
  })

  it('is found for each setting, and is exact', async () => {
    const policies = [
      KINDS['sliding window']('rpm', 3),
      KINDS['token bucket']('bucket', 4),
      slidingWindow({ name: 'late', limit: 'configured', window: '20s', per: PER }),
    ]
    const limiter = createLimiter({
      store: memory(),
      policies,
      extensions: [
        runtimeConfiguration({
          allow: {
            rpm: ['limit', 'mode', 'enabled'],
            bucket: ['limit', 'burst'],
            late: ['limit'],
          },
        }),
      ],
    })
    const text = busyLog(11)
    const { limits, outcome } = await suggest(text, {
      limiter,
      configuration: settings([1, 2, 3, 5], 'shadow'),
    })
    expect(limits.map(({ policy, setting, current }) => [policy, setting, current])).toEqual(
      expect.arrayContaining([
        ['rpm', { subject: undefined }, 1],
        ['rpm', { subject: { tenant: 'a' } }, 2],
        ['bucket', { subject: undefined }, 3],
        ['late', { subject: undefined }, 5],
      ]),
    )
    expect(limits).toHaveLength(4)
    expect(outcome.denied.calls).toBe(0)

    const order = ['rpm {}', 'rpm {"subject":{"tenant":"a"}}', 'bucket {}', 'late {}']
    const smallest = order.map(
      (name) =>
        limits.find((one) => `${one.policy} ${JSON.stringify(one.setting)}` === name)?.limit ?? 0,
    )
    const deniedWith = async (values: readonly number[]): Promise<number> => {
      const configuration = settings(values, 'enforce')
      const log = await openLog(write('log.csv', text))
      const { sets } = await replay(log.calls(), [policySet('set', { limiter, configuration })])
      return sets[0]?.denied.calls ?? 0
    }
    expect(await deniedWith(smallest)).toBe(0)
    for (const index of smallest.keys()) {
      expect(await deniedWith(smallest.with(index, (smallest[index] ?? 0) - 1))).toBeGreaterThan(0)
    }
  })

  it('is exact for each plan where plans share a budget', async () => {
    const plans = definePlans({ starter: { all: 90 }, growth: { all: 99 } })
    for (const limit of [
      1_000,
      ({ plan }: { plan: { all: number } }) => plan.all,
    ] as Limit<'all'>[]) {
      const policies = [slidingWindow({ name: 'all', limit, window: '1m', per: 'global' })]
      for (const [order, starter, growth] of [
        ['gs', 2, 1],
        ['sg', 1, 2],
        ['gggggs', 6, 5],
        ['gsgsgg', 4, 6],
      ] as const) {
        const lines = Array.from(
          order,
          (plan, second) =>
            `${START + second * 1_000},${plan},${plan === 's' ? 'starter' : 'growth'}`,
        )
        const text = `time,tenant,plan\n${lines.join('\n')}`
        const { limits, outcome } = await suggest(text, { policies, plans })
        expect(Object.fromEntries(limits.map((one) => [one.plan, one.limit]))).toEqual({
          starter,
          growth,
        })
        expect(limits.every(({ isSmallest }) => isSmallest)).toBe(true)
        expect(outcome.denied.calls).toBe(0)
      }
    }
  })

  it('does not exist for a bucket whose burst is too small', async () => {
    const text = `time,tenant,tokens\n${START},a,50\n`
    const bucket = tokenBucket({
      name: 'b',
      limit: 10,
      burst: 20,
      window: '1m',
      per: PER,
      unit: 'token',
    })
    const { limits } = await suggest(text, { policies: [bucket] })
    expect(limits).toMatchObject([{ limit: undefined, isSmallest: false }])
  })

  it('suffices in a budget that all share, but is not said to be the smallest', async () => {
    const text = busyLog(9)
    const policies = [slidingWindow({ name: 'all', limit: 5, window: '1m', per: 'global' })]
    const { limits, outcome } = await suggest(text, { policies }, ['scraper'])
    expect(limits).toMatchObject([{ policy: 'all', isSmallest: false }])
    expect(outcome.normal.hurt).toEqual([])
  })
})
