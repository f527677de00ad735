import {
  createLimiter,
  definePlans,
  fixedWindow,
  listen,
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
import { Watched } from '../../support/watched-store.ts'

export const NOON = Date.UTC(2026, 0, 15, 12)
/** How long an isolate relies on what it knows. */
export const RELY_MS = 5_000

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

/** Where plans are: what it says, and how often it was asked about whom. */
class Database {
  readonly asked: string[] = []
  readonly plans = new Map<string, unknown>()
  /** What to do in place of an answer. */
  instead: ((tenant: string, signal: AbortSignal) => unknown) | undefined

  readonly planOf = (tenant: string, { signal }: { signal: AbortSignal }): Promise<string> => {
    this.asked.push(tenant)
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
  /** As its time to live does. */
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
  const problems: Problem[] = []
  const isolate = (): Limiter =>
    createLimiter({
      store,
      clock,
      plans,
      // A busy machine must not make a look-up late.
      extensions: [
        planResolver(database.planOf, { timeoutMs: 30_000, ...options }),
        listen({ problem: (problem) => void problems.push(problem) }),
      ],
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
