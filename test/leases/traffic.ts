import { dailyCap, definePlans, fixedWindow, slidingWindow, type Clock } from '@sluice/core'
import { lease } from '@sluice/core/leases'

export const DAY_MS = 86_400_000

/** The limits and times of a swarm, in milliseconds. Each process gets them as JSON. */
export interface Traffic {
  readonly tenants: number
  /** The sliding windows. */
  readonly windowMs: number
  /** The fixed windows: `DAY_MS` for a daily cap. */
  readonly quotaMs: number
  readonly leaseMs: number
  /** Every tenant changes its plan this often, by the wall clock. */
  readonly planMs: number
  /** The time for which a process works for one tenant above all. */
  readonly turnMs: number
  readonly limits: {
    readonly everyone: number
    readonly small: PlanLimits
    readonly large: PlanLimits
    readonly plain: number
  }
  /** The time by which the swarm's clock is ahead. Without it, Redis' own clock counts. */
  readonly shiftMs?: number
}

interface PlanLimits {
  readonly [limit: string]: number
  readonly rpm: number
  readonly quota: number
}

/** Limits that a few processes reach. */
export const SMALL_LIMITS: Traffic['limits'] = {
  everyone: 2_000,
  small: { rpm: 300, quota: 500 },
  large: { rpm: 600, quota: 800 },
  plain: 20,
}

export type PlanName = 'small' | 'large'

/** The plan of every tenant at this time. */
export const planAt = (now: number, { planMs }: Traffic): PlanName =>
  Math.floor(now / planMs) % 2 === 0 ? 'small' : 'large'

/** The clock of every process of a swarm. */
export const clockOf =
  ({ shiftMs = 0 }: Traffic): Clock =>
  () =>
    Date.now() + shiftMs

/** The plans and policies of every process: three leased ones, and one that only some requests count in. */
export function limitsForSwarm(traffic: Traffic) {
  const { windowMs: window, quotaMs, leaseMs, limits, shiftMs } = traffic
  const { everyone, small, large, plain } = limits
  const terms = { duration: `${leaseMs}ms`, most: 500 } as const
  const perTenant = ['tenant'] as const
  const quotaOf = { name: 'quota', per: perTenant } as const
  const quota =
    quotaMs === DAY_MS
      ? dailyCap({ ...quotaOf, limit: ({ plan }) => plan['quota'] })
      : fixedWindow({ ...quotaOf, limit: ({ plan }) => plan['quota'], window: quotaMs })
  return {
    ...(shiftMs !== undefined && { clock: clockOf(traffic) }),
    plans: definePlans({ small, large }),
    policies: [
      lease(slidingWindow({ name: 'everyone', limit: everyone, window, per: 'global' }), terms),
      lease(
        slidingWindow({ name: 'rpm', limit: ({ plan }) => plan['rpm'], window, per: perTenant }),
        terms,
      ),
      lease(quota, terms),
      slidingWindow({ name: 'plain', limit: plain, window, per: perTenant, routes: ['plain'] }),
    ],
  }
}
