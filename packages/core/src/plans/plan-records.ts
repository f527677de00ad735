import type { Records } from '../limiter/records.ts'
import type { RecordField } from '../stores/store.ts'
import { randomId } from '../internal/random-id.ts'

/** The start of the mark that replaces an invalidated plan. No plan's name starts with it. */
const MARK = '!'

/** The time for which the last known plan, or a mark, is kept. */
const LAST_MS = 7 * 86_400_000

/** Reads and writes plans in the store: the one to use, for `cacheMs`, and the last known one, for a week. */
export class PlanRecords {
  readonly #records: Records
  readonly #cacheMs: number

  constructor(records: Records, cacheMs: number) {
    this.#records = records
    this.#cacheMs = cacheMs
  }

  /** Reads the stored plan (or its mark), and the last known plan. @throws StoreError */
  read(key: string, startedAt: number): Promise<readonly (string | undefined)[]> {
    return this.#records.read([planField(key), planField(lastKey(key))], startedAt)
  }

  /**
   * Replaces `stored` with a plan. Returns false, and saves nothing, if it has changed since the
   * look-up began: another isolate was faster, or the plan was invalidated, so the answer may be outdated.
   *
   * @throws StoreError
   */
  save(
    key: string,
    plan: string,
    stored: string | undefined,
    startedAt?: number,
  ): Promise<boolean> {
    const writes = [
      { key, set: { plan }, ttlMs: this.#cacheMs },
      { key: lastKey(key), set: { plan }, ttlMs: LAST_MS },
    ]
    return this.#records.write(writes, { ...planField(key), is: stored }, startedAt)
  }

  /** Marks the plan as outdated. No two marks are the same, so that `save` notices each. @throws StoreError */
  async invalidate(key: string): Promise<void> {
    await this.#records.write([{ key, set: { plan: MARK + randomId() }, ttlMs: LAST_MS }])
  }
}

export const planField = (key: string): RecordField => ({ key, field: 'plan' })

const lastKey = (key: string): string => `${key}:last`

/** Returns true if a plan was invalidated and has not been looked up since. */
export function isInvalidated(stored: string | undefined): boolean {
  return stored?.startsWith(MARK) === true
}
