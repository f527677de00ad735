import type { Decision, Limiter, Store } from '@sluice/core'
import { createLimiter, manualClock, type ManualClock } from '@sluice/core'
import { expect } from 'vitest'
import type { Event } from './history.ts'
import { moved } from './history.ts'
import { endOf, Oracle, type Ask, type Opinion } from './oracle.ts'
import { policiesOf, type Rule } from './rules.ts'

/** What runs beside the oracle. */
export interface Subjects {
  readonly stores: readonly Store[]
  /** Everything that is stored, byte for byte; a denial and a peek must not change it. */
  readonly state?: () => Promise<unknown>
  /**
   * Keys expire by the real clock. What was charged less than this before the end of its window must
   * be looked at again only after it.
   */
  readonly realExpiryMs?: number
}

/** Lives through a history with every store and the oracle, and compares all that is said. */
export async function replay(
  { stores, state, realExpiryMs = 0 }: Subjects,
  rules: readonly Rule[],
  startMs: number,
  events: readonly Event[],
): Promise<void> {
  const oracle = new Oracle(rules)
  const clock = manualClock(startMs)
  const policies = policiesOf(rules)
  const limiters = stores.map((store) => createLimiter({ store, policies, clock }))
  let retryAt = startMs
  let notBefore = startMs
  for (const { step, ask: asked, apply } of events) {
    const ask = { ...asked, cost: costOf(asked, rules) }
    clock.set(Math.max(notBefore, moved(clock(), step, rules, retryAt)))
    const now = clock()
    const before = await state?.()
    const expected = oracle.decide(ask, now, apply)
    const decisions = await Promise.all(limiters.map((limiter) => put(limiter, ask, apply)))
    for (const decision of decisions) agree(decision, expected, rules)
    const [decision] = decisions as [Decision]
    for (const other of decisions) expect(other).toEqual(decision)
    if (!decision.allowed || !apply) expect(await state?.()).toEqual(before)
    if (decision.allowed) {
      const ends = rules.filter(({ kind }) => kind !== 'sliding').map((rule) => endOf(rule, now))
      if (apply) notBefore = Math.max(now, ...ends.filter((end) => end - now < realExpiryMs))
    } else if (decision.retryAfterMs !== null) {
      retryAt = now + decision.retryAfterMs
      await retryTimeIsExact(limiters, clock, ask, retryAt)
    }
  }
  expect(oracle.fullest()).toBeLessThanOrEqual(1)
}

/** Checks or peeks. */
export function put(
  limiter: Limiter,
  { tenant, route, cost }: Ask,
  apply: boolean,
): Promise<Decision> {
  const subject = { tenant, route }
  return apply ? limiter.check(subject, { cost }) : limiter.peek(subject, { cost })
}

/** Expects a decision to say what the oracle says. */
function agree(
  decision: Decision,
  { allowed, opinions }: ReturnType<Oracle['decide']>,
  rules: readonly Rule[],
): void {
  const said = decision.policies.map(({ fits, remaining, resetMs, retryAfterMs, cost }) => ({
    fits,
    remaining,
    resetMs,
    retryAfterMs,
    cost,
  }))
  expect(said).toEqual(opinions)
  expect(decision.degraded).toBeUndefined()
  expect(decision.allowed).toBe(allowed)
  expect(decision.reason).toBe(reasonOf(opinions, rules))
  const waits = opinions.map(({ retryAfterMs }) => retryAfterMs)
  expect(decision.retryAfterMs).toBe(
    waits.includes(null) ? null : Math.max(...waits.map((wait) => wait ?? 0)),
  )
}

const REASONS = {
  sliding: 'rate_limit_exceeded',
  fixed: 'rate_limit_exceeded',
  daily: 'daily_quota_exceeded',
  monthly: 'monthly_quota_exceeded',
} as const

function reasonOf(opinions: readonly Opinion[], rules: readonly Rule[]): string | undefined {
  if (opinions.some(({ retryAfterMs }) => retryAfterMs === null)) return 'cost_exceeds_limit'
  const first = rules[opinions.findIndex(({ fits }) => !fits)]
  return first && REASONS[first.kind]
}

/** Looks ahead: with nothing else happening, the cost does not fit 1 ms before, and does at the time. */
async function retryTimeIsExact(
  limiters: readonly Limiter[],
  clock: ManualClock,
  ask: Ask,
  retryAt: number,
): Promise<void> {
  const now = clock()
  for (const [at, allowed] of [
    [retryAt - 1, false],
    [retryAt, true],
  ] as const) {
    clock.set(at)
    for (const limiter of limiters) expect((await put(limiter, ask, false)).allowed).toBe(allowed)
  }
  clock.set(now)
}

/** The costs in units that some policy counts; others would be refused. */
export function costOf({ cost }: Ask, rules: readonly Rule[]): Ask['cost'] {
  const units = new Set(rules.map(({ unit }) => unit)).add('request')
  return Object.fromEntries(Object.entries(cost).filter(([unit]) => units.has(unit)))
}
