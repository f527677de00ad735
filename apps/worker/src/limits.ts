import { modelPolicies, usd } from '@sluice/ai'
import {
  createLimiter,
  dailyCap,
  definePlans,
  sessionWindow,
  type Limit,
  type Limiter,
  type Policy,
  type Store,
  type Subject,
} from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { recordSpend, type SpendOptions } from './spend/recording.ts'

/**
 * The limits of a tenant by plan, over all of its keys and models; and, within it, of each team, user, key and
 * agent run, in dollars. Change these to your own.
 */
const PLANS = {
  starter: {
    rpm: 20,
    tpm: 40_000,
    dailyUsd: usd(1),
    monthlyUsd: usd(10),
    inFlight: 3,
    teamUsd: usd(1),
    userUsd: usd(0.5),
    keyUsd: usd(1),
    runUsd: usd(0.25),
  },
  growth: {
    rpm: 60,
    tpm: 200_000,
    dailyUsd: usd(5),
    monthlyUsd: usd(100),
    inFlight: 10,
    teamUsd: usd(3),
    userUsd: usd(2),
    keyUsd: usd(5),
    runUsd: usd(1),
  },
  professional: {
    rpm: 150,
    tpm: 1_000_000,
    dailyUsd: usd(25),
    monthlyUsd: usd(500),
    inFlight: 25,
    teamUsd: usd(15),
    userUsd: usd(10),
    keyUsd: usd(25),
    runUsd: usd(5),
  },
  enterprise: {
    rpm: 400,
    tpm: 4_000_000,
    dailyUsd: usd(200),
    monthlyUsd: usd(4_000),
    inFlight: 100,
    teamUsd: usd(100),
    userUsd: usd(50),
    keyUsd: usd(200),
    runUsd: usd(20),
  },
}

/** The plan of keys without one, or with one that is gone. */
const DEFAULT_PLAN = 'starter'

export const PLAN_NAMES: readonly string[] = Object.keys(PLANS)

/** Returns the plan of a subject. */
export const planOf = ({ plan }: Subject): string =>
  typeof plan === 'string' && Object.hasOwn(PLANS, plan) ? plan : DEFAULT_PLAN

/** A day's budget within the tenant's, for requests that have these dimensions. */
const within = (name: string, per: string[], limit: Limit): Policy =>
  dailyCap({ name, unit: 'usd', per, limit, onMissing: 'skip' })

const policies = [
  ...modelPolicies({
    per: ['tenant'],
    rpm: ({ plan }) => plan.rpm,
    tpm: ({ plan }) => plan.tpm,
    daily: ({ plan }) => plan.dailyUsd,
    monthly: ({ plan }) => plan.monthlyUsd,
    inFlight: ({ plan }) => plan.inFlight,
  }),
  within('team', ['tenant', 'team'], ({ plan }) => plan['teamUsd']),
  within('user', ['tenant', 'user'], ({ plan }) => plan['userUsd']),
  within('key', ['tenant', 'key'], ({ plan }) => plan['keyUsd']),
  sessionWindow({
    name: 'run',
    unit: 'usd',
    per: ['tenant', 'run'],
    limit: ({ plan }) => plan['runUsd'],
    idle: '30m',
    onMissing: 'skip',
  }),
]

/** Creates the limiter of all model calls. Each policy counts by tenant, so one Durable Object decides about a call. */
export function limiterFor(store: Store, spend?: SpendOptions): Limiter {
  return createLimiter({
    store,
    plans: definePlans(PLANS, { defaultPlan: DEFAULT_PLAN }),
    policies,
    extensions: [
      recordSpend(spend),
      // By which `sluice stop` stops a tenant, and `sluice raise` gives it more.
      runtimeConfiguration({
        allow: {
          rpm: ['limit'],
          tpm: ['limit'],
          'budget.daily': ['limit'],
          'budget.monthly': ['limit'],
          team: ['limit'],
          user: ['limit'],
          key: ['limit'],
        },
      }),
    ],
    // Nobody can tell then what was spent, and isolates that count alone would multiply each budget.
    onStoreError: 'deny',
  })
}
