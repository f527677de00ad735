import type { WaitUntil } from '../internal/background.ts'
import type { Clock } from '../clock.ts'
import type { Decision, PlanSource } from '../decision.ts'
import type { Plans } from '../policies/plans.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { RecordField, Store } from '../stores/store.ts'
import type { Records } from './records.ts'
import type { Subject } from '../subject.ts'
import type { Emitters, LimiterEvents, Listeners, Problem } from './events.ts'
import type { SettingsLookup } from './resolve.ts'

/** Something that joins limiters. Made by `defineExtension` or `listen`. */
export interface Extension {
  /** `undefined` of listeners, of which there may be several. */
  readonly name: string | undefined
  readonly seam: Seam
  /** Called by `createLimiter`. */
  join(host: ExtensionHost): ExtensionInstance
}

/** A limiter, to an extension that joins it. */
export interface ExtensionHost extends Omit<ExtensionContext, 'records'> {
  readonly store: Store
}

/** An extension in its limiter, made so that it cannot break a decision. */
export interface ExtensionInstance {
  readonly name: string | undefined
  prepare(call: ExtensionCall): Contribution | undefined | Promise<Contribution | undefined>
  readonly on: Listeners
  readonly thresholds: readonly number[]
  readonly configures: (policy: string, setting: string) => boolean
  readonly handle: unknown
}

/** Options of `defineExtension`. */
export interface ExtensionOptions {
  /** Names it in problems. */
  readonly name: string
  /**
   * Called once for each limiter, at construction. Does no I/O.
   *
   * @throws ConfigError When it does not fit the limiter.
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

/** The parts that an extension plays in its limiter. */
export interface ExtensionHooks {
  /** Called before each decision; a promise is waited for at most `maxWaitMs`. */
  readonly before?: (
    call: ExtensionCall,
  ) => Contribution | undefined | Promise<Contribution | undefined>
  /** How long a decision may wait for `before`, in milliseconds. @default 1_000 */
  readonly maxWaitMs?: number
  /** Called as things happen, after decisions. */
  readonly on?: Listeners
  /** Returns true if it may set this of a policy, so that a limit may be `'configured'`. */
  readonly configures?: (policy: string, setting: string) => boolean
  /** Whatever functions of the extension's own need of it. */
  readonly handle?: unknown
}

/** One decision, to an extension. */
export interface ExtensionCall {
  readonly subject: Subject
  readonly waitUntil: WaitUntil | undefined
  /** When the decision began, by the machine's clock. Pass it to `records`. */
  readonly startedAt: number
  /** Time in milliseconds that was not the store's, such as a database's: its deadline moves by so much. */
  pauseDeadline(ms: number): void
}

/** An extension's contribution to one decision. */
export interface Contribution {
  /** The plan of a subject that names none; `undefined` for the default plan. */
  readonly plan?: { readonly name: string | undefined; readonly source: PlanSource } | undefined
  /** Settings that take precedence over the policies' own. */
  readonly settings?: SettingsLookup | undefined
  /** Records to read along with the decision. */
  readonly reads?: readonly TrackedRecord[] | undefined
  /** The store's failure a moment ago: it need not be asked again. */
  readonly failure?: unknown
}

/** The contributions of all extensions to one decision. */
export interface CombinedContribution {
  readonly plan: Contribution['plan']
  /** The first that returns settings decides. */
  readonly settings: readonly SettingsLookup[]
  readonly reads: readonly TrackedRecord[]
  readonly failure: unknown
}

/**
 * The code that joins extensions to a limiter. Each extension brings it along, so that a limiter without
 * any does not load it.
 */
export interface Seam {
  /** Asks the extensions before a decision, all at once. */
  prepare(extensions: readonly ExtensionInstance[], call: ExtensionCall): Promise<CombinedContribution>
  /** Joins their listeners, so that none can break a decision. */
  emittersOf(extensions: readonly ExtensionInstance[], clock: Clock): Emitters
  /** Tells of a decision that was made to be acted on. */
  report(
    events: Emitters,
    subject: Subject,
    outcome: {
      readonly decision: Decision
      readonly entries: readonly { readonly burst: number }[]
    },
  ): void
  /** Wraps a store; tells how long each call took, and how it failed. */
  observed(store: Store, tell: (event: LimiterEvents['storeCall']) => void): Store
}

/** A stored record that decisions depend on; re-read with each check because other isolates may change it. */
export interface TrackedRecord {
  readonly field: RecordField
  /** Takes the value as it is now. Returns true if the decision was made by an older one. */
  update(value: string | undefined): boolean
}
