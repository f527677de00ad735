/* The counts and records of a place that keeps a journal of its changes, and the decisions about them. */
import type { StoredState } from '../algorithms/algorithm.ts'
import type { StoreErrorCode } from '../errors.ts'
import type { StoreReply, StoreRequest } from '../stores/store.ts'
import { systemClock, type Clock } from '../clock.ts'
import { decideOn, type CountedStates } from '../stores/decide-on.ts'
import { UnknownKind, type Kinds } from './kinds.ts'
import { decode, encode, parseMessage, type PlaceCall } from './message.ts'

/** The answer of a place. */
export type Answer =
  | { readonly reply: StoreReply }
  | { readonly result: unknown }
  /** It cannot do what it is asked for, and has done nothing. */
  | { readonly refusal: string }
  /** Another place, which it has asked, has failed. */
  | { readonly failure: { readonly code: StoreErrorCode; readonly message: string } }

/** The content of a journal. */
export interface StoredChanges {
  readonly snapshot: string | undefined
  /** The changes since then, the oldest first. */
  readonly changes: readonly string[]
}

/** A snapshot of states, and what has changed them since. */
export interface ChangeJournal {
  /** The number of characters of the snapshot. */
  readonly snapshotLength: number
  /** True if it is time for a snapshot. */
  readonly isLong: boolean
  load(): StoredChanges
  append(change: string): void
  /** Replaces everything by a snapshot. */
  replace(snapshot: string): void
}

/** A stored state: its key, the state, and its end (epoch ms). JSON has no Infinity. */
export type StateRow = readonly [key: string, state: unknown, expiresAt: number | null]

/** The bounds of a place, such as an object with 128 MB of memory: keys, and characters of a snapshot. */
const MAX_KEYS = 50_000
const MAX_STORED = 16_000_000
/** The part of them for keys of the tenant alone, such as a daily cap: forged users must not take it. */
const OWN_SHARE = 0.02

const HOUR_MS = 3_600_000
const MONTH_MS = 30 * 24 * HOUR_MS

/** The counts and records of a place, by key: in memory, and in a journal that brings them back. */
export class PlaceStates {
  readonly #kinds: Kinds
  readonly #clock: Clock
  readonly #journal: ChangeJournal
  readonly states: Map<string, StoredState> = new Map()
  #hasChanged = false
  /** No state expires before this time. */
  #nextExpiry = -Infinity

  constructor(journal: ChangeJournal, kinds: Kinds, clock: Clock = systemClock) {
    this.#journal = journal
    this.#kinds = kinds
    this.#clock = clock
    this.#load()
  }

  /**
   * Does what it is asked for. Awaits nothing, so that nothing else comes between. If it throws, its memory may differ
   * from its storage, and must be loaded anew.
   *
   * @param asText Returns the text of a call that does the same again: of this one, or of one that puts what it has changed.
   */
  call(call: PlaceCall, asText: () => string): Answer {
    const time = timeOf(call)
    const now = time?.clockIsInjected ? time.now : this.#clock()
    if (this.#isFull(call, now)) return { refusal: 'is full: it has no room for another key' }
    this.#hasChanged = false
    const answer = this.#do(call, now)
    if (this.#hasChanged) {
      this.#journal.append(`${now} ${asText()}`)
      if (this.#journal.isLong) this.#takeSnapshot(now)
    }
    return answer
  }

  /** Drops what has expired. Returns the time to do it again, or `undefined` if nothing is left. */
  sweep(now: number = this.#clock()): number | undefined {
    this.#takeSnapshot(now)
    if (this.states.size === 0) return undefined
    return this.nextSweep(now)
  }

  /** Returns the time at which everything may have expired: at least an hour on, because each alarm costs a row. */
  nextSweep(now: number = this.#clock()): number {
    let last = now + HOUR_MS
    for (const { expiresAt } of this.states.values()) last = Math.max(last, expiresAt)
    return Math.min(last, now + MONTH_MS)
  }

  #do(call: PlaceCall, now: number): Answer {
    const states = this.#countedStates
    if ('check' in call) {
      return { reply: { ...decideOn(states, { ...call.check, now }), source: 'store' } }
    }
    if ('run' in call) {
      const { kind, data } = call.run
      const isTimed = timeOf(call) !== undefined
      const timed = isTimed ? { ...call.run, data: { ...(data as Timed), now } } : call.run
      return { result: kind.run(states, timed) }
    }
    for (const key of call.reset) {
      if (this.states.delete(key)) this.#hasChanged = true
    }
    return { result: undefined }
  }

  readonly #countedStates: CountedStates = {
    get: (key, now) => {
      const stored = this.states.get(key)
      return stored && stored.expiresAt > now ? stored.state : undefined
    },
    set: (key, { state, expiresAt }) => {
      this.states.set(key, { state, expiresAt })
      this.#nextExpiry = Math.min(this.#nextExpiry, expiresAt)
      this.#hasChanged = true
    },
    count: (key, stored) => this.#countedStates.set(key, stored),
    changed: () => {
      this.#hasChanged = true
    },
    // Nothing is dropped before it expires.
    makeRoom: () => {},
  }

  #isFull(call: PlaceCall, now: number): boolean {
    if (this.#hasRoom(1 - OWN_SHARE)) return false
    const added = keysOf(call).filter((key) => !this.states.has(key))
    const share = added.every(isOneDimension) ? 1 : 1 - OWN_SHARE
    if (added.length === 0 || this.#hasRoom(share)) return false
    // A flood of new keys must not look through all of them each time.
    if (now >= this.#nextExpiry) this.#dropExpired(now)
    return !this.#hasRoom(share)
  }

  #hasRoom(share: number): boolean {
    return this.states.size < share * MAX_KEYS && this.#journal.snapshotLength < share * MAX_STORED
  }

  #dropExpired(now: number): void {
    this.#nextExpiry = Infinity
    for (const [key, { expiresAt }] of this.states) {
      if (expiresAt <= now) this.states.delete(key)
      else this.#nextExpiry = Math.min(this.#nextExpiry, expiresAt)
    }
  }

  #takeSnapshot(now: number): void {
    this.#dropExpired(now)
    const rows = Array.from(this.states, ([key, { state, expiresAt }]) => [key, state, expiresAt])
    this.#journal.replace(encode(rows))
  }

  #load(): void {
    const { snapshot = '[]', changes } = this.#journal.load()
    for (const [key, state, expiresAt] of decode(snapshot, this.#kinds) as StateRow[]) {
      this.states.set(key, { state, expiresAt: expiresAt ?? Infinity })
    }
    for (const change of changes) this.#redo(change)
  }

  /** Makes a change again: the same functions do the same with the same data at the same time. */
  #redo(change: string): void {
    const space = change.indexOf(' ')
    try {
      const call = parseMessage(change.slice(space + 1), this.#kinds)
      this.#do(call, Number(change.slice(0, space)))
    } catch (error) {
      // A deploy has removed the algorithm: nobody can ask for its counts.
      if (!(error instanceof UnknownKind)) throw error
    }
  }
}

/** True for a key that has the value of one dimension at most. */
const isOneDimension = (key: string): boolean => key.indexOf('=') === key.lastIndexOf('=')

/** Returns the keys that a call may add. */
function keysOf(call: PlaceCall): readonly string[] {
  if ('run' in call) return call.run.keys
  return 'check' in call ? call.check.entries.map(({ key }) => key) : []
}

type Timed = Pick<StoreRequest, 'now' | 'clockIsInjected'>

/** Returns the time by which a caller would decide, if it gives one: an object decides by its own unless that is injected. */
function timeOf(call: PlaceCall): Timed | undefined {
  const given = 'check' in call ? call.check : 'run' in call ? call.run.data : undefined
  return (given as Partial<Timed> | undefined)?.clockIsInjected === undefined
    ? undefined
    : (given as Timed)
}
