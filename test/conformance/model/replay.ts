import type { Decision, Limiter, Store } from '@sluice/core'
import { createLimiter, manualClock, type ManualClock } from '@sluice/core'
import { expect } from 'vitest'
import { moved, type Event } from './history.ts'
import { Oracle, type Ask, type Opinion } from './oracle.ts'
import { policiesOf, takingPart, type Rule } from './rules.ts'
import { endOf } from './usage.ts'

/** The stores that run beside the oracle. */
export interface Subjects {
  readonly stores: readonly Store[]
  /** Everything that is stored, byte for byte; a denial and a peek must not change it. */
  readonly state?: () => Promise<unknown>
  /**
   * Keys expire by the real clock. A charge less than this before the end of its window must
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
  const told = { retryAt: startMs, resetAt: startMs }
  let notBefore = startMs
  for (const { step, ask: given, apply } of events) {
    const ask = { ...given, cost: costOf(given, rules) }
    clock.set(Math.max(notBefore, moved(clock(), step, rules, told)))
    const now = clock()
    const before = await state?.()
    const expected = oracle.decide(ask, now, apply)
    const decisions = await Promise.all(limiters.map((limiter) => put(limiter, ask, apply)))
    const asked = takingPart(rules, ask.route)
    for (const decision of decisions) agree(decision, expected, asked)
    const [decision] = decisions as [Decision]
    for (const other of decisions) expect(other).toEqual(decision)
    expect(decision.skipped).toHaveLength(rules.length - asked.length)
    if (!decision.allowed || !apply) expect(await state?.()).toEqual(before)
    const resets = decision.policies.map(({ resetMs }) => resetMs)
    if (resets.length > 0) told.resetAt = now + Math.min(...resets)
    if (decision.allowed) {
      const ends = asked.filter(hasEnd).map((rule) => endOf(rule, now))
      if (apply) notBefore = Math.max(now, ...ends.filter((end) => end - now < realExpiryMs))
    } else if (decision.retryAfterMs !== null) {
      told.retryAt = now + decision.retryAfterMs
      await retryTimeIsExact(limiters, clock, ask, told.retryAt)
    }
  }
  expect(oracle.fullest()).toBeLessThanOrEqual(1)
}

/** Returns true if its count is gone in Redis at the very end of its window. */
export const hasEnd = ({ kind }: Rule): boolean =>
  kind === 'fixed' || kind === 'daily' || kind === 'monthly'

/** Checks or peeks. The source of the answer is left out: stores may differ in that alone. */
export async function put(
  limiter: Limiter,
  { tenant, route, cost }: Ask,
  apply: boolean,
): Promise<Decision> {
  const subject = { tenant, route }
  const decision = await (apply
    ? limiter.check(subject, { cost })
    : limiter.peek(subject, { cost }))
  const { place: _, ...told } = decision
  return { ...told, source: 'store' }
}

/** Expects a decision to say what the oracle says of the rules that take part. */
function agree(
  decision: Decision,
  { allowed, opinions }: ReturnType<Oracle['decide']>,
  asked: readonly Rule[],
): void {
  const said = decision.policies.map(
    ({ fits, charged, remaining, resetMs, retryAfterMs, cost, enforced, delayMs }) => ({
      fits,
      charged,
      remaining,
      resetMs,
      retryAfterMs,
      cost,
      enforced,
      delayMs,
    }),
  )
  expect(said).toEqual(opinions)
  expect(decision.degraded).toBeUndefined()
  expect(decision.allowed).toBe(allowed)
  expect(decision.reason).toBe(reasonOf(opinions, asked))
  const waits = opinions
    .filter(({ fits, enforced }) => enforced && !fits)
    .map(({ retryAfterMs }) => retryAfterMs)
  expect(decision.retryAfterMs).toBe(
    waits.includes(null) ? null : Math.max(0, ...waits.map((wait) => wait ?? 0)),
  )
  expect(decision.delayMs).toBe(
    allowed ? Math.max(0, ...opinions.map(({ delayMs }) => delayMs)) : 0,
  )
}

/** The reason of each period of a calendar. */
const QUOTAS = {
  day: 'daily_quota_exceeded',
  week: 'quota_exceeded',
  month: 'monthly_quota_exceeded',
  year: 'quota_exceeded',
} as const

function reasonOf(opinions: readonly Opinion[], asked: readonly Rule[]): string | undefined {
  const denying = opinions.map(({ fits, enforced }) => enforced && !fits)
  const never = opinions.some(({ retryAfterMs }, index) => denying[index] && retryAfterMs === null)
  if (never) return 'cost_exceeds_limit'
  const first = asked[denying.indexOf(true)]
  if (first === undefined) return undefined
  if (first.kind === 'calendar') return QUOTAS[first.calendar?.every ?? 'day']
  if (first.kind === 'daily') return 'daily_quota_exceeded'
  return first.kind === 'monthly' ? 'monthly_quota_exceeded' : 'rate_limit_exceeded'
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
