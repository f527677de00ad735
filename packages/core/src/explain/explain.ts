/* The function `explain`: why a request is denied, and what would have let it pass. */
import type { Cost } from '../cost.ts'
import type { Choices } from '../limiter/call.ts'
import type { Decision, PolicyReason, PolicyState } from '../decision.ts'
import type { DecideCall } from '../limiter/outcome.ts'
import type { Limiter, PlanName } from '../limiter/limiter.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Entry } from '../stores/store.ts'
import type { Subject } from '../subject.ts'
import { parseCall } from '../limiter/call.ts'
import { decide } from '../limiter/decide.ts'
import { decidedBy, runtimeOf, type LimiterRuntime } from '../limiter/runtime.ts'
import { explained } from '../reservations/held.ts'

/** Options of `explain`. */
export interface ExplainOptions<Unit extends string = string> {
  /** The units that the request asks for, as for `check`. @default 1 request */
  readonly cost?: Cost<Unit> | undefined
  /** The choices that the request has instead of a cost, as for `check`. @default none */
  readonly choices?: Choices<Unit> | undefined
}

/** A change of a limit that lets a request pass. */
export interface Raise {
  /** The setting to change: `'burst'` of a bucket, else `'limit'`. */
  readonly setting: 'limit' | 'burst'
  /** The smallest value with which this policy lets the request pass now. */
  readonly to: number
}

/** A policy that denies a request. */
export interface PolicyDenial {
  readonly policy: string
  readonly reason: PolicyReason
  /** The unit that is counted, such as `request`. */
  readonly unit: string
  /** Units in use. */
  readonly used: number
  /** The most units at once: a bucket's burst, otherwise the limit. */
  readonly most: number
  /** Units that the request asks for. */
  readonly cost: number
  /**
   * Milliseconds until this policy lets it pass if nothing else is charged; `null` if it never does. Of calls in flight it
   * is a guess: nobody knows when one ends.
   */
  readonly retryAfterMs: number | null
  /** The end of this period as local time with its zone (RFC 9557). Only with a calendar. */
  readonly resetsAt?: string
  /** `undefined` if no limit helps, or the policy counts in parts: with stripes or a lease. */
  readonly raise: Raise | undefined
}

/** The explanation of a decision. */
export interface Explanation {
  /**
   * The decision that `check` would make now. Its `policies` say how full each is. With `choices`, `denials` and `fittingCost`
   * are about the choice that the decision is about, too.
   */
  readonly decision: Decision
  /** The policies that deny, in the limiter's order. Empty if it is allowed, or denied without the store. */
  readonly denials: readonly PolicyDenial[]
  /**
   * The largest cost that is allowed now: of each unit as much as was asked for, or less. `undefined` if the request is
   * allowed, or if one of its units would be 0.
   */
  readonly fittingCost: Readonly<Record<string, number>> | undefined
}

/**
 * Explains the decision that `check` would make now: the policies that deny, and what would let the request pass: to
 * wait, to cost less, or a higher limit. Charges nothing. A denial takes one call to the store, and some three more for
 * each policy that denies: it is for people who ask why, not for each request.
 *
 * @throws InputError As `check` does.
 * @throws ConfigError When `createLimiter` did not create `limiter`.
 * @example
 * const { denials } = await explain(limiter, { tenant: 'acme' }, { cost: { token: 1_200 } })
 */
export async function explain<
  Dimension extends string,
  Unit extends string,
  Plan extends string,
  const Literal extends string,
>(
  limiter: Limiter<Dimension, Unit, Plan>,
  subject: Subject<NoInfer<Dimension>, PlanName<Literal, NoInfer<Plan>>>,
  options: ExplainOptions<NoInfer<Unit>> = {},
): Promise<Explanation> {
  const runtime = runtimeOf(limiter)
  const asked = parseCall(subject, options, false, ['cost', 'choices'])
  const { call, decision } = explained(await decide(runtime, asked), runtime)
  const denying = decision.policies.filter(({ fits, enforced }) => !fits && enforced)
  const denials: PolicyDenial[] = []
  for (const state of denying) denials.push(await denialBy(state, runtime, call))
  return { decision, denials, fittingCost: await fittingCost(denying, decision, runtime, call) }
}

async function denialBy(
  state: PolicyState,
  runtime: LimiterRuntime,
  call: DecideCall,
): Promise<PolicyDenial> {
  const { name: policy, reason, unit, burst: most, remaining, cost, retryAfterMs, resetsAt } = state
  const used = Math.max(0, most - remaining)
  const raise = await raiseFor(state, runtime, call)
  const end = resetsAt === undefined ? {} : { resetsAt }
  return { policy, reason, unit, used, most, cost, retryAfterMs, ...end, raise }
}

/** The most decisions to search for a limit. */
const MAX_LOOKS = 50

/** Returns the smallest limit with which a policy lets a request pass. */
async function raiseFor(
  { name, burst, cost, remaining }: PolicyState,
  runtime: LimiterRuntime,
  call: DecideCall,
): Promise<Raise | undefined> {
  const rule = runtime.program.policies.find((policy) => policy.name === name)
  if (!rule || rule.stripes > 1 || 'lease' in rule) return undefined
  // A balance without an allowance has no limit.
  if (rule.balance && rule.windowMs === 0) return undefined
  // A policy beside a limit has that limit.
  const limit = rule.follows ?? rule
  const setting = limit.burst === undefined ? 'limit' : 'burst'
  let looks = 0
  const passes = async (units: number): Promise<boolean> => {
    looks += 1
    const { policies } = await decideWith(runtime, call, limit, { [setting]: units, burst: units })
    return policies.some((state) => state.name === name && state.fits)
  }
  let [low, high] = [burst, burst + cost - remaining]
  while (!(await passes(high))) {
    if (looks > MAX_LOOKS / 2 || high >= limit.maxUnits) return undefined
    ;[low, high] = [high, Math.min(limit.maxUnits, 2 * high)]
  }
  // With most policies the first guess is the smallest.
  let middle = high - 1
  while (low < middle) {
    if (looks >= MAX_LOOKS) return undefined
    if (await passes(middle)) high = middle
    else low = middle
    if (high - low <= 1) break
    middle = Math.floor((low + high) / 2)
  }
  return { setting, to: high }
}

/** Decides with another limit of one policy, and of those that stand beside it. */
async function decideWith(
  runtime: LimiterRuntime,
  call: DecideCall,
  limit: PolicyRule,
  change: Partial<Entry>,
): Promise<Decision> {
  const changed = (entry: Entry): Entry =>
    entry.policy === limit || entry.policy.follows === limit ? { ...entry, ...change } : entry
  const trial = decidedBy(runtime, (request) => ({
    ...request,
    entries: request.entries.map(changed),
  }))
  return (await decide(trial, call)).decision
}

/** Returns the largest cost that is allowed now, if one of the units asked for is not 0. */
async function fittingCost(
  denying: readonly PolicyState[],
  { policies }: Decision,
  runtime: LimiterRuntime,
  call: DecideCall,
): Promise<Explanation['fittingCost']> {
  if (denying.length === 0) return undefined
  const cost: Record<string, number> = {}
  for (const state of policies) cost[state.unit] = state.cost
  for (const { unit, remaining } of denying) {
    cost[unit] = Math.min(cost[unit] ?? 0, remaining)
    if (cost[unit] <= 0) return undefined
  }
  const { decision } = await decide(runtime, { ...call, cost })
  return decision.allowed ? cost : undefined
}
