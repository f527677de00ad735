import type { RecordField } from './store.ts'

/** Something in the store that decisions depend on and that others may change. */
export interface Watch {
  readonly read: RecordField
  /** Takes note of what is there now, and tells whether a decision may be another one by it. */
  seen(value: string | undefined): boolean
}

/** How long an isolate relies on what it knows of the store's records, in milliseconds. */
export const RELY_MS = 5_000
