import type { Decision, LimiterEvents, PolicyRule, PolicyState, Subject } from '@sluice/core'
import { adaptedLimitOf, type AdaptedLimit } from '@sluice/core/internal/limiter'
import { choiceFacts, type ChoiceFacts } from '@sluice/core/internal/text'

/** A policy's state in one decision, as far as a dashboard shows it. */
export type PolicyFact = Pick<
  PolicyState,
  | 'name'
  | 'unit'
  | 'limit'
  | 'remaining'
  | 'cost'
  | 'charged'
  | 'windowMs'
  | 'resetsAt'
  | 'fits'
  | 'enforced'
> & {
  /** Milliseconds after which nothing of what is counted now counts any more. */
  readonly freshMs: number
  /** The end of the window of a cap, in epoch ms; `undefined` for other policies. */
  readonly endsAt?: number
  /** The route, if the policy counts by it. */
  readonly route?: string
  /** Set if the limit follows an upstream. */
  readonly adapted?: Pick<AdaptedLimit, 'most' | 'why'>
}

/** An event of a limiter, reduced to what a dashboard shows. Plain JSON, so that isolates can send it. */
export type DashboardRecord =
  DecisionRecord | ReservedRecord | SettledRecord | AbandonedRecord | ProblemRecord

/** A check or a reservation was decided. */
export interface DecisionRecord {
  readonly type: 'decision'
  readonly limiter: string
  readonly tenant: string
  /** The time of the decision by the store's clock, in epoch ms. */
  readonly at: number
  readonly plan?: string
  /** The place that decided, if the store has several. */
  readonly place?: string
  readonly allowed: boolean
  /** The code of the store's failure, if it was decided without the store. */
  readonly degraded?: string
  readonly policies: readonly PolicyFact[]
  /** Equal for a call and its retries. */
  readonly call: string
  /** Micro-dollars that the call may cost. */
  readonly estimateUsd: number
  /** The choices that the decision has looked at, if it had any. */
  readonly tried?: readonly ChoiceFacts[]
  /** The model that was asked for, if a door names it: after a failure it is none of the choices. */
  readonly asked?: string
}

/** A reservation holds dollars. */
export interface ReservedRecord {
  readonly type: 'reserved'
  readonly limiter: string
  readonly tenant: string
  readonly id: string
  readonly usd: number
  /** The time of the decision, in epoch ms. */
  readonly at: number
  /** The time at which the estimate becomes final, in epoch ms. */
  readonly settleBy: number
  /** True if the store failed and does not hold the estimate. */
  readonly isDegraded: boolean
}

/** A reservation was settled, with the units that this changed. */
export interface SettledRecord {
  readonly type: 'settled'
  readonly id: string
  /** The tokens that were used, less those of the estimate. */
  readonly tokens: number
  readonly returned: Readonly<Record<string, number>>
  readonly overrun: Readonly<Record<string, number>>
  /** The estimates by policy, if the call was decided without the store, which has charged it, too. */
  readonly stored?: Readonly<Record<string, number>>
}

/** A reservation was settled too late: its estimate is final. */
export interface AbandonedRecord {
  readonly type: 'abandoned'
  readonly id: string
}

/** A limiter has reported a problem. */
export interface ProblemRecord {
  readonly type: 'problem'
  readonly code: string
  readonly message: string
}

/** Options of `watch` and `relay`: what one limiter sends to its dashboard. */
export interface SourceOptions {
  /** The limiter's name on the dashboard. @default 'limits' */
  readonly name?: string
  /** The dimension of a subject that names the tenant. @default 'tenant' */
  readonly by?: string
  /**
   * The dimension of a subject that is equal for a call and its retries, such as an idempotency key.
   * Without it, equal calls of a tenant count as retries of one call. @default 'call'
   */
  readonly retriesBy?: string
  /**
   * Micro-dollars that a call may cost, for a limiter without a policy in dollars. @default nothing
   */
  readonly estimate?: (subject: Subject) => number
}

/** Returns the tenant of a subject on the dashboard. */
export const tenantOf = (subject: Subject, { by = 'tenant' }: SourceOptions): string =>
  dimension(subject, by) ?? 'everyone'

const dimension = (subject: Subject, name: string): string | undefined =>
  shortened((subject as Readonly<Record<string, string | undefined>>)[name])

/** The longest name, in UTF-16 units. A page of 200 tenants sends each in every snapshot. */
const MAX_NAME = 128

/** Cuts a long name, and adds a hash of the whole, so that names that begin alike stay apart. */
function shortened(name: string | undefined): string | undefined {
  if (name === undefined || name.length <= MAX_NAME) return name
  let hash = 0
  for (let index = 0; index < name.length; index += 1) {
    hash = (Math.imul(hash, 31) + name.charCodeAt(index)) >>> 0
  }
  return `${name.slice(0, MAX_NAME)}…${hash.toString(36)}`
}

export function decisionRecord(
  decision: Decision,
  subject: Subject,
  options: SourceOptions,
  rules: readonly PolicyRule[],
): DecisionRecord {
  const { name = 'limits', retriesBy = 'call', estimate } = options
  const { allowed, plan, place, degraded, policies, at, tried } = decision
  const estimateUsd = costIn(decision, 'usd') || (estimate?.(subject) ?? 0)
  const route = dimension(subject, 'route')
  const model = dimension(subject, 'model')
  const asked = dimension(subject, 'askedModel')
  const parts = [name, route, model, estimateUsd]
  const isOnly = tried === undefined && asked !== undefined && model !== undefined
  const choices = isOnly ? [{ ...decision, subject: { model } }] : tried
  return {
    type: 'decision',
    limiter: name,
    tenant: tenantOf(subject, options),
    at,
    allowed,
    policies: policies.map((policy) => factOf(policy, at, route, rules)),
    call: dimension(subject, retriesBy) ?? parts.join(' '),
    estimateUsd,
    ...(plan !== undefined && { plan }),
    ...(place !== undefined && { place }),
    ...(degraded && { degraded: degraded.cause }),
    ...(asked !== undefined && { asked }),
    ...(choices && { tried: choiceFacts(choices) }),
  }
}

const TEN_YEARS_MS = 315_576_000_000

function factOf(
  state: PolicyState,
  at: number,
  route: string | undefined,
  rules: readonly PolicyRule[],
): PolicyFact {
  const { name, unit, limit, remaining, cost, charged, windowMs, resetMs, fits, enforced } = state
  const { resetsAt } = state
  const rule = rules.find((one) => one.name === name)
  // A cap ends with its period of the calendar, and a session when it does. Another window may last from the newest charge on.
  const isCap = /quota_/.test(state.reason)
  const ownMs = isCap || rule?.algorithm.traits?.endsTogether ? resetMs : windowMs
  // A charge to a balance is never forgotten, whenever an allowance is renewed.
  const freshMs = rule?.balance ? TEN_YEARS_MS : ownMs
  const fact = { name, unit, limit, remaining, cost, charged, windowMs, freshMs, fits, enforced }
  const byRoute = route !== undefined && state.scope.split('+').includes('route')
  const { most, why } = adaptedLimitOf(rule, state) ?? {}
  return {
    ...fact,
    ...(isCap && { endsAt: at + resetMs }),
    ...(resetsAt !== undefined && !rule?.balance && { resetsAt }),
    ...(byRoute && { route }),
    ...(most !== undefined && why !== undefined && { adapted: { most, why } }),
  }
}

export function settledRecord(event: LimiterEvents['settled']): SettledRecord {
  const { id, charges, returned, overrun, corrections, wasReleased, replyWasLost } = event
  const moved: Record<string, number> = {}
  for (const { policy, reserved, actual } of corrections) {
    // The record of its release has given back the whole estimate.
    moved[policy.unit] = wasReleased ? actual : actual - reserved
  }
  const stored = Object.fromEntries(charges.map(({ policy, units }) => [policy, units]))
  return {
    type: 'settled',
    id,
    returned,
    overrun,
    tokens: tokensOf((unit) => moved[unit]),
    ...(replyWasLost && { stored }),
  }
}

/** Returns the tokens among units: `token`, or `input_token` and `output_token` together. */
export const tokensOf = (units: (unit: string) => number | undefined): number =>
  units('token') ?? (units('input_token') ?? 0) + (units('output_token') ?? 0)

/** Returns the units of one kind that a decision was about. */
export const costIn = ({ policies }: Pick<Decision, 'policies'>, unit: string): number =>
  policies.find((policy) => policy.unit === unit)?.cost ?? 0
