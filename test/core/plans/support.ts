import {
  createLimiter,
  definePlans,
  fixedWindow,
  manualClock,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type ManualClock,
  type Problem,
  type Store,
} from '@sluice/core'
import { planResolver, type PlanResolverOptions } from '@sluice/core/plans'
import { vi } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { Watched } from '../../support/watched-store.ts'

/** The time for which an isolate uses a known plan without a read. */
export const FRESH_MS = 5_000

const plans = definePlans({
  starter: { rpm: 2 },
  growth: { rpm: 200 },
  enterprise: { rpm: 400 },
})

const rpm = fixedWindow({
  name: 'rpm',
  limit: ({ plan }) => plan['rpm'],
  window: '1h',
  per: ['tenant'],
})

/** A database of plans that records its queries. */
class Database {
  readonly queries: string[] = []
  readonly plans = new Map<string, unknown>()
  /** Replaces the answer, for example by a failure. */
  instead: ((tenant: string, signal: AbortSignal) => unknown) | undefined

  readonly planOf = (tenant: string, { signal }: { signal: AbortSignal }): Promise<string> => {
    this.queries.push(tenant)
    const answer = this.instead ? this.instead(tenant, signal) : this.plans.get(tenant)
    return Promise.resolve(answer as string)
  }
}

export interface Isolates {
  readonly store: Watched
  readonly clock: ManualClock
  readonly database: Database
  readonly problems: Problem[]
  readonly limiters: Limiter[]
  /** One more isolate. */
  readonly isolate: () => Limiter
  /** Removes the cached plan of a tenant, as its time to live does. */
  readonly expire: (tenant?: string) => Promise<void>
}

/** Several isolates of one app, over one store: each has a limiter of its own. */
export function isolates(
  count: number,
  inner: Store,
  options: PlanResolverOptions = {},
  more: Partial<LimiterOptions> = {},
): Isolates {
  const store = new Watched(inner)
  const clock = manualClock(NOON)
  const database = new Database()
  database.plans.set('acme', 'starter')
  const { problems, listener } = collectProblems()
  const isolate = (): Limiter =>
    createLimiter({
      store,
      clock,
      plans,
      // A busy machine must not make a look-up late.
      extensions: [planResolver(database.planOf, { timeoutMs: 30_000, ...options }), listener],
      policies: [rpm],
      ...more,
    })
  const limiters = Array.from({ length: count }, isolate)
  const expire = (tenant = 'acme'): Promise<void> => inner.reset([`tenant:${tenant}:plan`])
  return { store, clock, database, problems, limiters, isolate, expire }
}

/** 64 checks at once, spread over the isolates. */
export function flood(limiters: readonly Limiter[], tenant = 'acme'): Promise<Decision[]> {
  const check = (_: unknown, index: number): Promise<Decision> =>
    (limiters[index % limiters.length] as Limiter).check({ tenant })
  return Promise.all(Array.from({ length: 64 }, check))
}

/** The plan of a decision and where it comes from. */
export const planOf = ({ plan, planSource }: Decision): string => `${plan} by ${planSource}`

/** The different plans of decisions, and where they come from. */
export const plansOf = (decisions: readonly Decision[]): string[] =>
  [...new Set(decisions.map(planOf))].toSorted()

/** Peeks until the plan is this one. */
export async function untilPlan(limiter: Limiter, plan: string): Promise<void> {
  await vi.waitUntil(async () => (await limiter.peek({ tenant: 'acme' })).plan === plan, {
    timeout: 20_000,
    interval: 5,
  })
}
