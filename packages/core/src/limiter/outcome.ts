import type { Decision } from '../decision.ts'
import type { Fit, SettlementMark, StoreReply } from '../stores/store.ts'
import type { ExtensionCall, LimiterCall } from './call.ts'
import type { ResolvedEntry } from './resolve.ts'

/** A call to decide. */
export interface DecideCall extends LimiterCall {
  /** Creates the mark that allows settling, if the cost is an estimate. */
  readonly markFor?: ((id: string, entries: readonly ResolvedEntry[]) => SettlementMark) | undefined
  /** The time within which the cost will be settled, in milliseconds. @default 0, the cost is final */
  readonly holdMs?: number | undefined
  /** A range to grant the most of that fits. The cost is that of its floor. */
  readonly fit?: Fit | undefined
  /** The id of the charges. @default a new one */
  readonly id?: string | undefined
}

/** A decision, with the entries and the reply that it was made from. */
export interface Outcome {
  readonly id: string
  /** The call that was decided. */
  readonly call: DecideCall
  /** The call as extensions see it, if there are any. */
  readonly extensionCall: ExtensionCall | undefined
  readonly decision: Decision
  readonly entries: readonly ResolvedEntry[]
  readonly reply: StoreReply
  /** True if it was based on a record that has changed; 'ends' if a calendar knew no end of the period that runs. */
  readonly isOutdated: boolean | 'ends' | undefined
  /** With choices, all of them. */
  readonly alternatives?: readonly Pick<Outcome, 'id' | 'entries'>[]
  /** With choices, returns the outcome after `explain` has changed the waits of all that were tried. */
  readonly explained?: (explain: (one: Outcome) => void) => Outcome
  /** The other choices. The store may have charged one of them, if it has not answered. */
  readonly unheard?: readonly Outcome[]
  /** The same call decided a second time, without an answer of the store, which may have charged it. */
  readonly unanswered?: Outcome
}
