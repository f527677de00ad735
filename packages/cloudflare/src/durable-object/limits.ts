/* The counts and records of one object, and the decisions about them. */
import {
  StoreError,
  type StoredState,
  type StoreErrorCode,
  type StoreReply,
  type StoreRequest,
} from '@sluice/core'
import {
  decideOn,
  decode,
  encode,
  parseMessage,
  UnknownKind,
  type CountedStates,
  type Kinds,
  type PlaceCall,
} from '@sluice/core/internal/places'
import { Journal, MAX_CHARACTERS, type RowStorage } from './journal.ts'

/** The answer of an object. */
export type Answer =
  | { readonly reply: StoreReply }
  | { readonly result: unknown }
  /** It cannot do what it is asked for, and has done nothing. */
  | { readonly refusal: string }
  /** Another object, which it has asked, has failed. */
  | { readonly failure: { readonly code: StoreErrorCode; readonly message: string } }

/** The bounds of one object, which holds everything in its 128 MB of memory: keys, and characters of a snapshot. */
const MAX_KEYS = 50_000
const MAX_STORED = 16_000_000
/** The part of them for keys of the tenant alone, such as a daily cap: forged users must not take it. */
const OWN_SHARE = 0.02

const HOUR_MS = 3_600_000
const MONTH_MS = 30 * 24 * HOUR_MS

export class Limits {
  readonly #kinds: Kinds
  readonly #clock: () => number
  readonly #onFirstRow: () => void
  readonly #journal: Journal
  readonly #states = new Map<string, StoredState>()
  #hasChanged = false
  /** No state expires before this time. */
  #nextExpiry = -Infinity

  /** @param onFirstRow Called in the step that stores the first row. */
  constructor(
    sql: RowStorage,
    kinds: Kinds,
    clock: () => number = Date.now,
    onFirstRow: () => void = () => {},
  ) {
    this.#kinds = kinds
    this.#clock = clock
    this.#onFirstRow = onFirstRow
    this.#journal = new Journal(sql)
    this.#load()
  }

  /** True once something was stored. */
  get isStored(): boolean {
    return this.#journal.isStored
  }

  /**
   * Does what it is asked for. Awaits nothing, so that nothing else comes between. If it throws, its memory may differ
   * from its storage, and must be loaded anew.
   *
   * @param text The call as a message.
   */
  call(call: PlaceCall, text: string): Answer {
    if (text.length > MAX_CHARACTERS) return { refusal: 'takes no call that large' }
    const time = timeOf(call)
    const now = time?.clockIsInjected ? time.now : this.#clock()
    if (this.#isFull(call, now)) return { refusal: 'is full: it has no room for another key' }
    this.#hasChanged = false
    const answer = this.#do(call, now)
    if (this.#hasChanged) {
      const isFirst = !this.#journal.isStored
      this.#journal.append(`${now} ${text}`)
      if (isFirst) this.#onFirstRow()
      if (this.#journal.isLong) this.#takeSnapshot(now)
    }
    return answer
  }

  /** Drops what has expired. Returns the time to do it again, or `undefined` if nothing is left. */
  sweep(now: number = this.#clock()): number | undefined {
    this.#takeSnapshot(now)
    if (this.#states.size === 0) return undefined
    return this.nextSweep(now)
  }

  /** Begins anew, once the rows of an empty object are deleted. */
  forget(): void {
    this.#journal.forget()
  }

  /** Returns the time at which everything may have expired: at least an hour on, because each alarm costs a row. */
  nextSweep(now: number = this.#clock()): number {
    let last = now + HOUR_MS
    for (const { expiresAt } of this.#states.values()) last = Math.max(last, expiresAt)
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
      if (this.#states.delete(key)) this.#hasChanged = true
    }
    return { result: undefined }
  }

  readonly #countedStates: CountedStates = {
    get: (key, now) => {
      const stored = this.#states.get(key)
      return stored && stored.expiresAt > now ? stored.state : undefined
    },
    set: (key, { state, expiresAt }) => {
      this.#states.set(key, { state, expiresAt })
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
    const added = keysOf(call).filter((key) => !this.#states.has(key))
    const share = added.every(isOneDimension) ? 1 : 1 - OWN_SHARE
    if (added.length === 0 || this.#hasRoom(share)) return false
    // A flood of new keys must not look through all of them each time.
    if (now >= this.#nextExpiry) this.#dropExpired(now)
    return !this.#hasRoom(share)
  }

  #hasRoom(share: number): boolean {
    return this.#states.size < share * MAX_KEYS && this.#journal.snapshotLength < share * MAX_STORED
  }

  #dropExpired(now: number): void {
    this.#nextExpiry = Infinity
    for (const [key, { expiresAt }] of this.#states) {
      if (expiresAt <= now) this.#states.delete(key)
      else this.#nextExpiry = Math.min(this.#nextExpiry, expiresAt)
    }
  }

  #takeSnapshot(now: number): void {
    this.#dropExpired(now)
    // JSON has no Infinity.
    const rows = Array.from(this.#states, ([key, { state, expiresAt }]) =>
      expiresAt === Infinity ? [key, state] : [key, state, expiresAt],
    )
    this.#journal.replace(encode(rows))
  }

  #load(): void {
    const { snapshot = '[]', changes } = this.#journal.load()
    const rows = decode(snapshot, this.#kinds) as [
      key: string,
      state: unknown,
      expiresAt?: number,
    ][]
    for (const [key, state, expiresAt = Infinity] of rows)
      this.#states.set(key, { state, expiresAt })
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

/** Returns the error to throw for an answer without a result. */
export const refusalOf = (answer: Answer): StoreError =>
  'refusal' in answer
    ? new StoreError('store_refused', `The Durable Object ${answer.refusal}`)
    : new StoreError('store_bad_reply', 'The Durable Object sent an invalid reply')
