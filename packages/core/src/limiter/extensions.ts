import type { Clock } from '../clock.ts'
import type { PlanSource } from '../decision.ts'
import type { Plans } from '../policies/plans.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Entry, RecordRead, Store } from '../stores/store.ts'
import type { Records } from './records.ts'
import type { ExtensionCall, LimiterCall } from './call.ts'
import type { LimiterEvents, Listeners, Problem, ReservationOrigin } from './events.ts'
import type { Outcome } from './outcome.ts'
import type { SettingsLookup } from './resolve.ts'

/** An addition to limiters, made by `defineExtension` or `listen`. */
export interface Extension {
  /** Unique in a limiter. `undefined` for `listen`, which a limiter may have several times. */
  readonly name: string | undefined
  readonly seam: Seam
  /** Joins a limiter. Called by `createLimiter`. */
  join(host: ExtensionHost): ExtensionInstance
}

/** The parts of a limiter that an extension joins. */
export interface ExtensionHost extends Omit<ExtensionContext, 'records'> {
  readonly store: Store
  readonly clockIsInjected: boolean
}

/** An extension in one limiter, wrapped so that it cannot break a decision. */
export interface ExtensionInstance {
  readonly name: string | undefined
  contribute(call: ExtensionCall): Contribution | undefined | Promise<Contribution | undefined>
  readonly on: Listeners
  readonly thresholds: readonly number[]
  readonly configures: (policy: string, setting: string) => boolean
  readonly handle: unknown
}

/** Options of `defineExtension`. */
export interface ExtensionOptions {
  /** The name in problems and for `extensionHandle`. Unique in a limiter. */
  readonly name: string
  /**
   * Called once for each limiter, at construction. Must not do I/O.
   *
   * @throws ConfigError If the limiter lacks something that the extension needs.
   */
  readonly connect: (context: ExtensionContext) => ExtensionHooks
}

/** The parts of a limiter that an extension may use. */
export interface ExtensionContext {
  readonly policies: readonly PolicyRule[]
  readonly plans: Plans | undefined
  /** Whole milliseconds. */
  readonly clock: Clock
  readonly records: Records
  readonly problem: (problem: Problem) => void
}

/** The hooks of an extension in one limiter. */
export interface ExtensionHooks {
  /** Called before each decision, which waits for a promise at most `maxWaitMs`. */
  readonly before?: (
    call: ExtensionCall,
  ) => Contribution | undefined | Promise<Contribution | undefined>
  /** The longest time that a decision waits for `before`, in milliseconds. @default 1_000 */
  readonly maxWaitMs?: number
  /** Listeners, called when events occur. */
  readonly on?: Listeners
  /** Returns true if the extension may change this setting of a policy, which allows `limit: 'configured'`. */
  readonly configures?: (policy: string, setting: string) => boolean
  /** A value for functions of your own, which get it from `extensionHandle`. */
  readonly handle?: unknown
}

/** The contribution of an extension, or of all of a limiter, to one decision. */
export interface Contribution {
  /** The plan of a subject that names none; `undefined` for the default plan. */
  readonly plan?: { readonly name: string | undefined; readonly source: PlanSource } | undefined
  /** Finds settings that take precedence over a policy's own. */
  readonly settings?: SettingsLookup | undefined
  /** Records to read in the same round trip as the decision. */
  readonly reads?: readonly TrackedRecord[] | undefined
  /** The failure of a call to the store for this decision. The store is then not called again. */
  readonly failure?: unknown
}

/**
 * The code that connects extensions to a limiter. Each extension carries a reference to it, so that a
 * limiter without extensions does not load it.
 */
export interface Seam {
  /** Starts the time of a call. Extensions may move the start, from which a deadline counts. */
  startCall(call: LimiterCall): ExtensionCall
  /** Collects the contributions of all extensions to a decision, concurrently. Of plans and settings the first wins. */
  contribute(extensions: readonly ExtensionInstance[], call: ExtensionCall): Promise<Contribution>
  /** Combines the listeners of all extensions, so that none can break a decision. */
  createEmitters(extensions: readonly ExtensionInstance[], clock: Clock): Emitters
  /** Emits the events of a decision, unless it was a look. */
  report(events: Emitters, outcome: Outcome): void
  /** Wraps a store and emits `storeCall` for each call. */
  observeStore(store: Store, emit: (event: LimiterEvents['storeCall']) => void): Store
}

/** A function for each event that has listeners. `problem` is always set. */
export type Emitters = Omit<Listeners, 'threshold' | 'reserved'> & {
  readonly problem: (problem: Problem) => void
  /** `entry`: that of the policy, or of its stripe that counted the request. `at`: the time of the decision. */
  readonly threshold?: (
    event: LimiterEvents['shadow'] & { readonly entry: Entry; readonly at: number },
  ) => void
  /** Returns the origin, for the data of the reservation. */
  readonly reserved?: (
    data: Pick<LimiterEvents['reserved'], 'id' | 'settleBy'>,
    outcome: Outcome,
  ) => ReservationOrigin
}

/** A stored record that decisions depend on; re-read with each check because other isolates may change it. */
export interface TrackedRecord {
  /** The record. With `is`, the value that the contribution rests on, nothing is charged if it has another, and the decision is made again. */
  readonly field: RecordRead
  /** Takes the current value. Returns true if the decision was based on an older one. */
  update(value: string | undefined): boolean
}
