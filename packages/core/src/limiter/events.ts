import type { Decision, Degraded, PolicyState } from '../decision.ts'
import type { StoreErrorCode } from '../errors.ts'
import type { ExtensionCall } from './call.ts'
import type { Subject } from '../subject.ts'

/** The events of a limiter, by name. */
export interface LimiterEvents {
  /** A check or a reservation was decided. */
  readonly decision: {
    readonly decision: Decision
    readonly subject: Subject
    /** The same object that the hook `before` of an extension got for this decision. */
    readonly call: ExtensionCall
    /** The id of the reservation, if one was made. */
    readonly reservation: string | undefined
  }
  /** A check was decided without the store. */
  readonly degraded: { readonly degraded: Degraded; readonly subject: Subject }
  /**
   * A call to the store succeeded or failed. A breaker that is open fails it at once, with `store_paused`. A decision that
   * a lease or a cached denial answers makes none.
   */
  readonly storeCall: {
    readonly call: 'check' | 'run' | 'reset'
    readonly durationMs: number
    /** The place that answered or failed, if the store has several and it is known. */
    readonly place?: string | undefined
    /** The error, if the call failed. */
    readonly error?: unknown
  }
  /**
   * A charge brought a policy past one of the limiter's `thresholds`. Emitted once for a partition and window in each
   * process. Open reservations count with their estimates; units that settling adds emit nothing.
   */
  readonly threshold: PolicyEvent & { readonly threshold: number }
  /** A shadow policy would have denied the request. */
  readonly shadow: PolicyEvent
  /** A reservation was made. */
  readonly reserved: {
    readonly id: string
    readonly subject: Subject
    readonly decision: Decision
    /** The time at which the estimate becomes final, in epoch ms. */
    readonly settleBy: number
  }
  /** A reservation was settled, which charged or returned units. */
  readonly settled: SettledEvent
  /** A reservation was settled after its `settleWithin`: its estimate is final. */
  readonly abandoned: ReservedUnits
  /** An answer of a model call ended at its maximum of output tokens. If the model thinks, it may have no text. */
  readonly cutAnswer: CutAnswerEvent
  /** A request began to wait in a line, or its wait is over. */
  readonly wait: WaitEvent
  /** A job of a queue began an attempt, or an attempt is over. */
  readonly job: JobEvent
  /**
   * Something is wrong that does not stop decisions, such as an unknown plan or a store that fails, or
   * the store answers again. The same problem is emitted once a minute; with the code of a store's error, only one. At most ten unknown
   * plans are, from each `source`.
   */
  readonly problem: Problem
}

/** A policy's state in one decision. */
interface PolicyEvent {
  readonly policy: PolicyState
  readonly subject: Subject
}

/** The units that a reservation has charged, by policy. */
interface ReservedUnits {
  readonly id: string
  readonly charges: readonly { readonly policy: string; readonly units: number }[]
  /**
   * The request that the reservation was made for, in any process. `undefined` if the limiter that made it had no
   * listener of reservations. Of a release because its holder died, the subject has the dimensions of the partition, and route
   * and model are `'(unknown)'`.
   */
  readonly origin?: ReservationOrigin | undefined
}

/** The request that a reservation was made for. A part of its data. */
export interface ReservationOrigin {
  readonly subject: Subject
  /** The plan that applied. */
  readonly plan: string | undefined
  /** The time of the decision, in epoch ms. */
  readonly at: number
  /** The limit of each policy that took part. */
  readonly limits: Readonly<Record<string, number>>
}

/** The changes that settling a reservation made, in units by their name. */
interface SettledEvent extends ReservedUnits {
  readonly returned: Readonly<Record<string, number>>
  readonly overrun: Readonly<Record<string, number>>
  /**
   * The policies of which other units were used than were reserved. They differ from what was moved where
   * the window was over by then.
   */
  readonly corrections: readonly {
    readonly policy: { readonly name: string; readonly unit: string }
    readonly reserved: number
    readonly actual: number
  }[]
  /**
   * True if a call is settled after it was released. The event of its release has reported all of it as
   * returned, so now `actual` is charged in full.
   */
  readonly wasReleased: boolean
  /** True if the call was decided without the store, which has charged it, too: only its reply was lost. */
  readonly replyWasLost: boolean
}

/** An answer that was paid for, and did not come to its end. */
interface CutAnswerEvent {
  /** The subject of the call, with its model. */
  readonly subject: Subject
  readonly decision: Decision
  /** Tokens of all answers of the call: `reasoning` is the part of `output` that was thinking, if a format reads it. */
  readonly usage: { readonly output: number; readonly reasoning?: number; readonly isCut?: boolean }
}

/** A wait in the line of a policy. */
interface WaitEvent {
  /** The name of the policy. */
  readonly policy: string
  readonly subject: Subject
  /**
   * It began; then it was let in, denied, given up because its client hung up, or the store failed. Each wait that began has
   * one of these ends.
   */
  readonly outcome: 'begun' | 'allowed' | 'denied' | 'aborted' | 'failed'
  /** The time that it took; 0 when it begins. */
  readonly waitedMs: number
}

/** An attempt of a job. */
interface JobEvent {
  readonly queue: string
  readonly id: string
  /** An attempt began; then it is done, waits for another attempt, or has failed for good. */
  readonly outcome: 'begun' | 'done' | 'retried' | 'failed'
  /** The subject of the job. Set when an attempt begins. */
  readonly subject?: Subject
  /** The time since it was added. Set when its first attempt begins. */
  readonly waitedMs?: number | undefined
}

/** A fault that does not stop decisions. */
export interface Problem {
  readonly code:
    | 'unknown_plan'
    | 'plan_resolver_failed'
    | 'invalid_configuration'
    | 'configuration_almost_full'
    | 'extension_failed'
    | 'policy_skipped'
    | 'reservation_lost'
    | 'usage_incomplete'
    | 'model_ends'
    | 'calendar_unknown'
    | 'store_recovered'
    | StoreErrorCode
  /** A sentence for the log. Contains no id of a tenant or user. */
  readonly message: string
  /** The origin of an unknown plan's name: the subject of a request, or the plan resolver. */
  readonly source?: 'subject' | 'resolver'
  /** The name of the store that failed, if the limiter's has several. */
  readonly place?: string | undefined
  /** The error that was thrown, if its `code` and text are not those of the problem: a `StoreError` is the problem itself. */
  readonly error?: unknown
}

/** Event callbacks. Exceptions are logged and never affect a decision. */
export type Listeners = {
  readonly [Name in keyof LimiterEvents]?: (event: LimiterEvents[Name]) => void
}
