import type { Decision, Degraded, PolicyState } from '../decision.ts'
import type { Subject } from '../subject.ts'

/** Events of a limiter, by name. */
export interface LimiterEvents {
  /** A check or a reservation was decided. */
  readonly decision: { readonly decision: Decision; readonly subject: Subject }
  /** A check was decided without the store. */
  readonly degraded: { readonly degraded: Degraded; readonly subject: Subject }
  /** The store answered, or failed. */
  readonly storeCall: {
    readonly call: 'check' | 'run' | 'reset'
    readonly durationMs: number
    /** The error it failed with. */
    readonly error?: unknown
  }
  /**
   * A charge brought a policy past one of the limiter's `thresholds`. Once for each crossing. A
   * reservation counts with its estimate; what settling adds is not looked at.
   */
  readonly threshold: PolicyEvent & { readonly threshold: number }
  /** A shadow policy would have denied the request. */
  readonly shadow: PolicyEvent
  /** A reservation was made. */
  readonly reserved: { readonly id: string; readonly subject: Subject; readonly decision: Decision }
  /** A reservation was settled: units charged or given back, by unit. */
  readonly settled: SettledEvent
  /** A reservation was settled too late: its estimate has become final. */
  readonly abandoned: { readonly id: string }
  /**
   * Something is wrong that does not stop decisions, such as an unknown plan. The same thing is told
   * once a minute, and of unknown plans at most ten names from each `source`.
   */
  readonly problem: Problem
}

/** A policy's state in one decision. */
export interface PolicyEvent {
  readonly policy: PolicyState
  readonly subject: Subject
}

/** The changes that settling a reservation made. */
interface SettledEvent {
  readonly id: string
  readonly returned: Readonly<Record<string, number>>
  readonly overrun: Readonly<Record<string, number>>
}

/** Something that is wrong and does not stop decisions. */
export interface Problem {
  readonly code:
    | 'unknown_plan'
    | 'plan_resolver_failed'
    | 'invalid_configuration'
    | 'extension_failed'
    | 'reservation_lost'
  /** A sentence for the log. Holds no id of anyone. */
  readonly message: string
  /** The origin of an unknown plan's name: the subject of a request, or the plan resolver. */
  readonly source?: 'subject' | 'resolver'
  /** The error that was thrown, if one was. */
  readonly error?: unknown
}

/** Functions that are called as things happen. Exceptions are logged and never affect a decision. */
export type Listeners = {
  readonly [Name in keyof LimiterEvents]?: (event: LimiterEvents[Name]) => void
}

/** One function for each event that somebody listens to; problems are always told. */
export type Emitters = Omit<Listeners, 'threshold'> & {
  readonly problem: (problem: Problem) => void
  /** `most`: the units that the policy's part that was asked can hold. */
  readonly threshold?: (event: PolicyEvent & { readonly most: number }) => void
}
