import type { PolicyRule, PolicyState } from '@sluice/core'
import type { Call } from '../call.ts'
import type { PolicySet } from './policy-set.ts'
import { createTwin } from './twin.ts'

/** The state of a policy when a request was denied, without what is not needed here. */
type PastState = Omit<
  PolicyState,
  'scope' | 'resetMs' | 'charged' | 'delayMs' | 'retryAfterMs' | 'reason'
>

/** A denial as `recordDenials` of `@sluice/usage/denials` keeps it. */
export interface PastDenial {
  /** The time of the decision, in epoch ms. */
  readonly at: number
  /** The subject of the request, without its tenant. */
  readonly subject: Readonly<Record<string, string>>
  readonly plan?: string | undefined
  readonly policies: readonly PastState[]
}

/** A denial, and what another set of limits decides. */
export interface JudgedDenial<D extends PastDenial> {
  readonly denial: D
  readonly outcome: 'allowed' | 'denied' | 'unknown'
  /** The policy that denies it, too, or whose use is not known; `undefined` if it is allowed. */
  readonly by: string | undefined
}

/** A call that would have been let in. */
interface Admitted {
  readonly at: number
  readonly cost: number
}

/**
 * Decides recorded denials of a tenant by a set of limits, in the order of their times: by what was used when each was
 * denied, and by those before it that are let in. It is not known what a policy decides that has another window or refill
 * than then, or took no part in the denial. A denial by a policy that cannot be replayed stays one.
 *
 * @throws ConfigError When the set has settings that are invalid.
 * @example
 * const judged = await judgeDenials('acme', await listDenials(limiter, 'acme'), policySet('new', { limiter, configuration }))
 */
export async function judgeDenials<D extends PastDenial>(
  tenant: string,
  denials: readonly D[],
  { rules, plans, configuration, omitted }: PolicySet,
): Promise<JudgedDenial<D>[]> {
  const twin = createTwin(rules, plans, configuration)
  const admitted = createAdmitted()
  const none = Object.fromEntries(rules.map(({ unit }) => [unit, 0]))
  const judged: JudgedDenial<D>[] = []
  for (const denial of denials.toSorted((a, b) => a.at - b.at)) {
    const { at, subject, plan, policies } = denial
    const units = { ...none, ...Object.fromEntries(policies.map(({ unit, cost }) => [unit, cost])) }
    const own = { ...subject, tenant, ...(plan !== undefined && { plan }) }
    const call: Call = { at, line: 0, subject: own, units, status: undefined }
    // The limits of now. The counts are those of the denial.
    const decision = await twin.peek(call, units['usd'])
    const parts = decision.policies.map((state) => {
      const rule = rules.find(({ name }) => name === state.name) as PolicyRule
      const past = policies.find(({ name }) => name === state.name)
      const key = keyOf(rule, own)
      return {
        state,
        past,
        key,
        verdict: verdictOf(state, past, rule, admitted.sum(key, at, state)),
      }
    })
    const left = policies.find(
      ({ name, enforced, fits }) => enforced && !fits && omitted.some((one) => one.name === name),
    )
    const nameOf = (verdict: Verdict) => parts.find((part) => part.verdict === verdict)?.state.name
    const denier = left?.name ?? nameOf('denied')
    const unknown = nameOf('unknown')
    const outcome =
      denier === undefined ? (unknown === undefined ? 'allowed' : 'unknown') : 'denied'
    judged.push({ denial, outcome, by: denier ?? unknown })
    if (outcome !== 'allowed') continue
    for (const { key, state, past } of parts)
      admitted.add(key, { at, cost: past?.cost ?? state.cost })
  }
  return judged
}

type Verdict = JudgedDenial<PastDenial>['outcome']

function verdictOf(
  { enforced, limit, burst, windowMs }: PolicyState,
  past: PastState | undefined,
  rule: PolicyRule,
  admitted: number,
): Verdict {
  if (!enforced) return 'allowed'
  if (past && past.cost > burst) return 'denied'
  if (past?.windowMs !== windowMs) return 'unknown'
  const isOver = past.burst - past.remaining + past.cost + admitted > burst
  // A bucket that fills faster would have held no less, and one that fills slower no more.
  if (rule.burst !== undefined && isOver === limit > past.limit && limit !== past.limit) {
    return 'unknown'
  }
  return isOver ? 'denied' : 'allowed'
}

/** Keeps the calls that are let in, by partition. */
function createAdmitted() {
  const calls = new Map<string, Admitted[]>()
  return {
    /** Returns what those within the window before a time cost. */
    sum(key: string, at: number, { windowMs }: PolicyState): number {
      const lately = (calls.get(key) ?? []).filter((one) => one.at > at - windowMs)
      return lately.reduce((total, { cost }) => total + cost, 0)
    },
    add(key: string, call: Admitted): void {
      calls.set(key, [...(calls.get(key) ?? []), call])
    },
  }
}

function keyOf({ name, per }: PolicyRule, subject: Readonly<Record<string, string>>): string {
  return JSON.stringify([name, ...(per === 'global' ? [] : per.map((part) => subject[part]))])
}
