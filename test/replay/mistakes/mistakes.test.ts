/* Mistakes in limits that a log shows: each is named in a sentence, and sane limits are not. */
import {
  dailyCap,
  definePlans,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  tokenBucket,
  type Plans,
  type Policy,
} from '@sluice/core'
import type { DesiredEntry } from '@sluice/core/configuration'
import { findMistakes, policySet, replay, type Call } from '@sluice/replay'
import { describe, expect, it } from 'vitest'
import { streamOf } from '../month.ts'

const START = Date.UTC(2026, 10, 2)

/** Two days of ten tenants: a call each minute of four hours, of 2 cents or, with the large model, of 40. */
const CALLS: Call[] = Array.from({ length: 2 * 240 * 10 }, (_, index) => {
  const [minute, tenant] = [Math.floor(index / 10) % 240, index % 10]
  const isLarge = minute % 8 === 0
  return {
    at: START + Math.floor(index / 2_400) * 86_400_000 + minute * 60_000 + tenant * 1_000,
    line: index + 1,
    subject: {
      tenant: `t${tenant}`,
      route: minute % 2 === 0 ? 'chat' : 'search',
      model: isLarge ? 'large' : 'small',
      plan: tenant < 8 ? 'starter' : 'pro',
    },
    units: { token: 1_000, usd: isLarge ? 400_000 : 20_000 },
    status: 200,
  }
})

interface Set {
  readonly policies: readonly Policy[]
  readonly plans?: Plans
  readonly configuration?: readonly DesiredEntry[]
}

async function mistakesOf(limits: Set): Promise<readonly string[]> {
  const set = policySet('limits', limits)
  const mistakes = findMistakes(set)
  for (const call of CALLS) mistakes.add(call)
  const { sets } = await replay(streamOf(CALLS), [set])
  return (await mistakes.find(sets[0]?.policies ?? [])).map(({ text }) => text)
}

const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })
const budget = (limit: number): Policy =>
  dailyCap({ name: 'budget', limit, unit: 'usd', per: ['tenant'] })

const perTenant = { name: 'session', per: ['tenant'] } as const

const PLANTED: readonly (readonly [mistake: string, limits: Set, says: string])[] = [
  [
    'a limit 100 times too small',
    { policies: [rpm, dailyCap({ name: 'daily', limit: 6, per: ['tenant'] })] },
    'daily denies 97 % of its calls (4680 of 4800), with a limit of 6: raise it.',
  ],
  [
    'cents for dollars',
    { policies: [rpm, budget(2_000)] },
    'budget allows $0.002000, less than one call of large and 1 more ($0.40), and denies all 4800 of these calls: raise it; dollars are written usd(20), which is 20,000,000 micro-dollars.',
  ],
  [
    'a window of a second for a minute',
    { policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1s', per: ['tenant'] })] },
    "rpm has a window of 1s, and its name says 1m: write window: '1m', or name it otherwise.",
  ],
  [
    'a plan that no call has',
    { policies: [rpm], plans: definePlans({ starter: { x: 1 }, pro: { x: 1 }, Team: { x: 1 } }) },
    'No call has the plan "Team": name it as the log does (starter, pro), or remove it.',
  ],
  [
    'a plan that is not defined',
    { policies: [rpm], plans: definePlans({ starter: { x: 1 } }) },
    'Calls have the plan "pro", which is not defined, and get the limits of "starter": define it.',
  ],
  [
    'a policy that another one always comes before',
    { policies: [rpm, dailyCap({ name: 'daily', limit: 100_000, per: ['tenant', 'route'] })] },
    'daily (100000 in 1d) has no effect, because rpm (60 in 1m) denies first: lower daily, or remove it.',
  ],
  [
    'a limit of each route for one of each tenant',
    { policies: [slidingWindow({ name: 'rpm', limit: 8, window: '1m', per: ['route'] })] },
    "rpm counts all tenants together (per: route), and has denied calls of 2 of them: write per: ['tenant'] for a limit of each.",
  ],
  [
    'a limit of 0',
    {
      policies: [rpm],
      configuration: [{ policy: 'rpm', subject: { tenant: 't3' }, settings: { limit: 0 } }],
    },
    "rpm has a limit of 0 for t3, which denies all 480 of these calls: write 'unlimited' for no limit, or null for the one of the code.",
  ],
  [
    'a budget below the cost of a call',
    { policies: [rpm, budget(300_000)] },
    'budget allows $0.30, less than one call of large ($0.40), and denies all 600 of these calls: raise it; dollars are written usd(20), which is 20,000,000 micro-dollars.',
  ],
  [
    'a limit of a day below that of a minute',
    { policies: [rpm, dailyCap({ name: 'daily', limit: 50, per: ['tenant'] })] },
    'rpm (60 in 1m) has no effect, because daily (50 in 1d) denies first: raise daily.',
  ],
  [
    'a session of a length that a limit of a minute never lets fill',
    { policies: [rpm, sessionWindow({ ...perTenant, limit: 100_000, length: '5h' })] },
    'session (100000 in 5h) has no effect, because rpm (60 in 1m) denies first: lower session, or remove it.',
  ],
  [
    'a session of a length that is below the limit of a minute, two in a row',
    { policies: [rpm, sessionWindow({ ...perTenant, limit: 20, length: '5h' })] },
    'rpm (60 in 1m) has no effect, because session (20 in 5h) denies first: raise session.',
  ],
]

const SANE: readonly (readonly [name: string, limits: Set])[] = [
  ['limits of requests and dollars', { policies: [rpm, budget(50_000_000)] }],
  [
    'limits that deny some calls, with plans',
    {
      plans: definePlans({ starter: { daily: 200 }, pro: { daily: 2_000 } }),
      policies: [
        rpm,
        dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] }),
        monthlyCap({ name: 'month', limit: 500_000_000, unit: 'usd', per: 'global' }),
      ],
    },
  ],
  [
    'a session that its calls prolong for hours',
    { policies: [rpm, sessionWindow({ ...perTenant, limit: 100_000, idle: '30m' })] },
  ],
  [
    'a bucket of tokens, a limit of a model and settings',
    {
      policies: [
        tokenBucket({
          name: 'tokens',
          limit: 50_000,
          window: '1m',
          unit: 'token',
          per: ['tenant'],
        }),
        slidingWindow({ name: 'provider', limit: 500, window: '1m', per: ['model'] }),
      ],
      configuration: [{ policy: 'tokens', settings: { limit: 40_000 } }],
    },
  ],
]

describe('mistakes in limits', () => {
  it.each(PLANTED)('names %s', async (_, limits, says) => {
    expect(await mistakesOf(limits)).toContain(says)
  })

  it.each(SANE)('names nothing in %s', async (_, limits) => {
    expect(await mistakesOf(limits)).toEqual([])
  })
})
