import type { Clock } from '../clock.ts'
import type { PlanSource } from '../decision.ts'
import type { Plans } from '../plans/plans.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { RecordCondition, RecordField, RecordWrite } from '../stores/store.ts'
import type { Subject } from '../subject.ts'
import type { Listeners, Problem } from './events.ts'
import type { SettingsOf } from './resolve.ts'

/** Keeps a promise alive past the response, as `ctx.waitUntil` does. */
export type WaitUntil = (promise: Promise<unknown>) => void

/**
 * Joins a limiter: may read records and set limits before a decision, and is told what happens. It can
 * neither break a decision nor delay it for longer than it states.
 *
 * @example See `docs/extending.md`, which builds one.
 */
export interface Extension {
  /** Names it in problems, and for the functions that work on it. */
  readonly name: string
  /** Called once, when the limiter is made. Does no I/O. @throws ConfigError When it does not fit the limiter. */
  connect(context: ExtensionContext): ConnectedExtension
}

/** The parts of a limiter that an extension may use. */
export interface ExtensionContext {
  readonly policies: readonly PolicyRule[]
  readonly plans: Plans | undefined
  /** Whole milliseconds. */
  readonly clock: Clock
  readonly records: Records
  problem(problem: Problem): void
}

/** Small named values beside the counts. Nothing stands in for them when the store fails. */
export interface Records {
  /** `startedAt`: when the decision began that waits for it, which bounds the wait. @throws StoreError */
  read(fields: readonly RecordField[], startedAt?: number): Promise<readonly (string | undefined)[]>
  /** Returns true if the condition held, and all was written. @throws StoreError */
  write(
    writes: readonly RecordWrite[],
    condition?: RecordCondition,
    startedAt?: number,
  ): Promise<boolean>
  /** @throws StoreError */
  remove(keys: readonly string[]): Promise<void>
}

/** An extension in its limiter. */
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
  readonly plan?: { readonly name: string | undefined; readonly source: PlanSource }
  /** Settings that take precedence over the policies' own. */
  readonly settings?: SettingsOf
  /** Records to read along with the decision. */
  readonly reads?: readonly TrackedRecord[]
  /** How the store has just failed, so that there is no use in asking it again. */
  readonly failure?: unknown
}

/** A stored record that decisions depend on; re-read with each check because other isolates may change it. */
export interface TrackedRecord {
  readonly field: RecordField
  /** Takes the value as it is now. Returns true if the decision was made by an older one. */
  update(value: string | undefined): boolean
}

/** How long an isolate relies on what it knows of the store's records, in milliseconds. */
export const FRESH_MS = 5_000

/** Returns true if `until` lies further ahead than anything can last: the clock was set back. */
export function clockMovedBack(until: number, now: number, lastsMs: number = FRESH_MS): boolean {
  return until - now > lastsMs
}
