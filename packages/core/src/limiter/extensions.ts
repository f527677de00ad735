import type { Clock } from '../clock.ts'
import type { PlanSource } from '../decision.ts'
import type { Plans } from '../plans/plans.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { RecordField, Store } from '../stores/store.ts'
import type { Records } from './records.ts'
import type { Subject } from '../subject.ts'
import type { Listeners, Problem } from './events.ts'
import type { SettingsOf } from './resolve.ts'

/** Keeps a promise alive past the response, as `ctx.waitUntil` does. */
export type WaitUntil = (promise: Promise<unknown>) => void

/** Something that joins limiters. Made by `defineExtension`. */
export interface Extension {
  readonly name: string
  /** Called by `createLimiter`. */
  join(host: ExtensionHost): JoinedExtension
}

/** A limiter, to an extension that joins it. */
export interface ExtensionHost extends Omit<ExtensionContext, 'records'> {
  readonly store: Store
}

/** An extension in its limiter, made so that it cannot break a decision. */
export interface JoinedExtension {
  readonly name: string
  prepare(call: ExtensionCall): Preparation | undefined | Promise<Preparation | undefined>
  readonly on: Listeners
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
  readonly connect: (context: ExtensionContext) => ConnectedExtension
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

/** What an extension does in its limiter. */
export interface ConnectedExtension {
  /** Called before each decision; a promise is waited for at most `maxWaitMs`. */
  readonly before?: (
    call: ExtensionCall,
  ) => Preparation | undefined | Promise<Preparation | undefined>
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

/** What an extension contributes to one decision. */
export interface Preparation {
  /** The plan of a subject that names none; `undefined` for the default plan. */
  readonly plan?: { readonly name: string | undefined; readonly source: PlanSource } | undefined
  /** Settings that take precedence over the policies' own. */
  readonly settings?: SettingsOf | undefined
  /** Records to read along with the decision. */
  readonly reads?: readonly TrackedRecord[] | undefined
  /** How the store has just failed, so that there is no use in asking it again. */
  readonly failure?: unknown
}

/** A stored record that decisions depend on; re-read with each check because other isolates may change it. */
export interface TrackedRecord {
  readonly field: RecordField
  /** Takes the value as it is now. Returns true if the decision was made by an older one. */
  update(value: string | undefined): boolean
}
