import type { Decision, PolicyState, Subject } from '@sluice/core'

/** A policy's state in one decision, as far as a dashboard shows it. */
export type PolicyFact = Pick<
  PolicyState,
  'name' | 'unit' | 'limit' | 'remaining' | 'cost' | 'windowMs' | 'fits' | 'enforced'
> & {
  /** Milliseconds after which nothing of what is counted now counts any more. */
  readonly freshMs: number
  /** The route, if the policy counts by it. */
  readonly route?: string
}

/** An event of a limiter, reduced to what a dashboard shows. Plain JSON, so that isolates can send it. */
export type DashboardRecord =
  DecisionRecord | ReservedRecord | SettledRecord | AbandonedRecord | ProblemRecord

/** A check or a reservation was decided. */
export interface DecisionRecord {
  readonly type: 'decision'
  readonly limiter: string
  readonly tenant: string
  readonly plan?: string
  readonly allowed: boolean
  /** The code of the store's failure, if it was decided without the store. */
  readonly degraded?: string
  readonly policies: readonly PolicyFact[]
  /** Equal for a call and its retries. */
  readonly call: string
  /** Micro-dollars that the call may cost. */
  readonly estimateUsd: number
}

/** A reservation holds dollars. */
export interface ReservedRecord {
  readonly type: 'reserved'
  readonly limiter: string
  readonly tenant: string
  readonly id: string
  readonly usd: number
}

/** A reservation was settled, with the units that this changed. */
export interface SettledRecord {
  readonly type: 'settled'
  readonly id: string
  readonly returned: Readonly<Record<string, number>>
  readonly overrun: Readonly<Record<string, number>>
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

/** Options of `watch` and `relay`: what one limiter tells its dashboard. */
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

const UNNAMED = 'everyone'

/** Returns the tenant of a subject on the dashboard. */
export const tenantOf = (subject: Subject, { by = 'tenant' }: SourceOptions): string =>
  dimension(subject, by) ?? UNNAMED

const dimension = (subject: Subject, name: string): string | undefined =>
  (subject as Readonly<Record<string, string | undefined>>)[name]

/** Returns the record of a decision. */
export function decisionRecord(
  decision: Decision,
  subject: Subject,
  options: SourceOptions,
): DecisionRecord {
  const { name = 'limits', retriesBy = 'call', estimate } = options
  const { allowed, plan, degraded, policies } = decision
  const estimateUsd = costIn(decision, 'usd') || (estimate?.(subject) ?? 0)
  const route = dimension(subject, 'route')
  const parts = [name, route, dimension(subject, 'model'), estimateUsd]
  return {
    type: 'decision',
    limiter: name,
    tenant: tenantOf(subject, options),
    allowed,
    policies: policies.map((policy) => factOf(policy, route)),
    call: dimension(subject, retriesBy) ?? parts.join(' '),
    estimateUsd,
    ...(plan !== undefined && { plan }),
    ...(degraded && { degraded: degraded.cause }),
  }
}

function factOf(state: PolicyState, route: string | undefined): PolicyFact {
  const { name, unit, limit, remaining, cost, windowMs, resetMs, fits, enforced, scope } = state
  // A cap ends with its day or month. Another window may last from the newest charge on.
  const isCap = /^(daily|monthly)_/.test(state.reason)
  const freshMs = isCap ? resetMs : windowMs
  const fact = { name, unit, limit, remaining, cost, windowMs, freshMs, fits, enforced }
  const byRoute = route !== undefined && scope.split('+').includes('route')
  return byRoute ? { ...fact, route } : fact
}

/** Returns the units of one kind that a decision was about. */
export const costIn = ({ policies }: Pick<Decision, 'policies'>, unit: string): number =>
  policies.find((policy) => policy.unit === unit)?.cost ?? 0
