import type { AbandonedRecord, ReservedRecord, SettledRecord } from '../records/record.ts'
import { setBounded } from './bounded.ts'

/** The most calls of each kind that are remembered. */
const MAX_CALLS = 10_000
/** The time after `settleBy` at which a call counts as ended: clocks differ, and records take their time. */
const GRACE_MS = 60_000

type CallEnd = SettledRecord | AbandonedRecord

/** The time between two searches for calls whose estimates are final. */
const SEARCH_MS = 1_000

/** The calls that run. Their ends may arrive before their beginnings, when another process sends them. */
export class Calls {
  readonly #running = new Map<string, ReservedRecord>()
  /** A call that was released because its holder died may still be settled. */
  readonly #ended = new Map<string, ReservedRecord>()
  readonly #early = new Map<string, CallEnd>()
  #searchedAt = -Infinity

  /** Adds a call. Returns its end if that has arrived before. */
  begin(call: ReservedRecord): CallEnd | undefined {
    const end = this.#early.get(call.id)
    this.#early.delete(call.id)
    this.#running.set(call.id, call)
    return end
  }

  /** Ends a call. Returns it with its state before; `undefined` if its beginning has not arrived. */
  end(end: CallEnd): { readonly call: ReservedRecord; readonly wasRunning: boolean } | undefined {
    const running = this.#running.get(end.id)
    const call = running ?? this.#ended.get(end.id)
    if (call) this.#close(call)
    else setBounded(this.#early, end.id, end, MAX_CALLS)
    return call && { call, wasRunning: running !== undefined }
  }

  /** Ends the calls whose estimates are final, and the oldest above the bound. Returns them. */
  expire(now: number): ReservedRecord[] {
    const excess = this.#running.size - MAX_CALLS
    if (excess <= 0 && Math.abs(now - this.#searchedAt) < SEARCH_MS) return []
    this.#searchedAt = now
    const expired = [...this.#running.values()].filter(
      ({ settleBy }, index) => index < excess || settleBy + GRACE_MS < now,
    )
    for (const call of expired) this.#close(call)
    return expired
  }

  forget(tenant: string): void {
    for (const calls of [this.#running, this.#ended]) {
      for (const [id, call] of calls) if (call.tenant === tenant) calls.delete(id)
    }
  }

  #close(call: ReservedRecord): void {
    this.#running.delete(call.id)
    setBounded(this.#ended, call.id, call, MAX_CALLS)
  }
}
