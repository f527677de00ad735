/* An adaptive limit in one limiter: it reads the record along with decisions, and writes what calls have shown. */
import type { ExtensionCall } from '../limiter/call.ts'
import type { LimiterEvents } from '../limiter/events.ts'
import type { Contribution, ExtensionContext } from '../limiter/extensions.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { RecordField } from '../stores/store.ts'
import { runInBackground, type WaitUntil } from '../internal/background.ts'
import { FRESH_MS, isFresh } from '../internal/freshness.ts'
import { singleFlight } from '../internal/single-flight.ts'
import { noteAdapted } from '../limiter/adapted.ts'
import { adapt, isEnough, type Bounds } from './adaptation.ts'
import { decodeRecord, encodeRecord, firstRecord, type AdaptiveRecord } from './adaptive-record.ts'
import { addSums, measure, NO_SUMS, type Samples } from './samples.ts'

/** The time for which an isolate relies on its copy, and between two writes of all isolates, in milliseconds. */
const PERIOD_MS = 1_000

/** The time after which an isolate that decides about no calls reads the record by itself, in milliseconds. */
const ALONE_MS = 3_000

/** A write that has not come back after this was cut off, in milliseconds. */
const CUT_OFF_MS = FRESH_MS

/** The time after which a limit that nobody asks for starts anew. */
const TTL_MS = 86_400_000

/** Calls that take so many times as long as usual count before they end; while the usual time is not known, after so many ms. */
const OVERDUE = 2.5
const OVERDUE_MS = 300_000

/** The decisions, and the time (ms) since the first, after which it is said that no call was observed. */
const MANY = 100
const LONG_MS = 60_000

/** The part of a limiter that follows. */
export type FollowerContext = Pick<ExtensionContext, 'records' | 'clock' | 'problem'>

export class Follower {
  readonly #context: FollowerContext
  readonly #rule: PolicyRule
  readonly #bounds: Bounds
  readonly #samples: Samples
  readonly #field: RecordField
  readonly #loadOnce: (startedAt?: number) => Promise<AdaptiveRecord>
  #record: AdaptiveRecord | undefined
  #text: string | undefined
  /** Sums that are not in the record yet. */
  #own = NO_SUMS
  /** The time at which it was last read, and since when it has been the same. */
  #readAt = 0
  #sameSince = 0
  #writingSince = -Infinity
  #writes = 0
  #decisions = 0
  #firstDecisionAt = 0
  #hasWarned = false

  constructor(context: FollowerContext, rule: PolicyRule, bounds: Bounds, samples: Samples) {
    this.#context = context
    this.#rule = rule
    this.#bounds = bounds
    noteAdapted(rule, () => this.#record)
    this.#samples = samples
    this.#field = { key: `adaptive:${rule.name}`, field: 'state' }
    this.#loadOnce = singleFlight(
      (startedAt?: number) => this.#load(startedAt),
      () => this.#record,
    )
  }

  /** The limit as far as this isolate knows. */
  get limit(): number {
    const { limit } = (this.#record ?? firstRecord(this.#bounds)).state
    return Math.floor(limit)
  }

  /** Contributes the limit to a decision. Returns a promise only until the record is known. */
  contribute({ startedAt, waitUntil }: ExtensionCall): Contribution | Promise<Contribution> {
    if (this.#record) return this.#contribution(waitUntil)
    return this.#loadOnce(startedAt).then(
      () => this.#contribution(waitUntil),
      (failure: unknown) => ({ settings: this.#settings, failure }),
    )
  }

  /** Takes notice of how much of the limit is in use. */
  note({ decision }: LimiterEvents['decision']): void {
    const state = decision.policies.find(({ name }) => name === this.#rule.name)
    if (!state || decision.degraded) return
    this.#samples.use(state.fits ? state.limit - state.remaining : state.limit, this.#now)
    this.#decisions += 1
    if (this.#decisions === 1) this.#firstDecisionAt = this.#now
    if (this.#hasWarned || this.#decisions < MANY) return
    // Another instance may observe, and its record tell of it.
    const isObserved =
      this.#samples.hasCalls || this.#record?.turn !== 0 || this.#record.sums.calls > 0
    if (isObserved || this.#now - this.#firstDecisionAt < LONG_MS) return
    this.#hasWarned = true
    const { name } = this.#rule
    const message = `The limit of "${name}" stays at its min, because no call was observed: wrap the calls to the upstream, as in observe(() => fetch(url))`
    this.#context.problem({ code: 'extension_failed', message })
  }

  /** Shares what calls have shown. Decisions read the record on their way: without any, it is read here. */
  async share(): Promise<void> {
    const now = this.#now
    if (this.#record && isFresh(this.#readAt, now, ALONE_MS)) return
    this.#readAt = now
    await this.#load()
    this.#writeIfDue()
  }

  readonly #settings: Contribution['settings'] = (policy) =>
    (policy.follows ?? policy) === this.#rule ? { limit: this.limit } : undefined

  #contribution(waitUntil: WaitUntil | undefined): Contribution {
    const settings = this.#settings
    const now = this.#now
    if (isFresh(this.#readAt, now, PERIOD_MS)) return { settings }
    this.#readAt = now
    const writes = this.#writes
    const update = (text: string | undefined): boolean => {
      // Read before this isolate's own write, or together with it.
      if (writes !== this.#writes) return false
      const { limit } = this
      this.#take(text)
      this.#writeIfDue(waitUntil)
      // A denial is decided again if the limit has grown.
      return this.limit > limit
    }
    return { settings, reads: [{ field: this.#field, update }] }
  }

  async #load(startedAt?: number): Promise<AdaptiveRecord> {
    const [text] = await this.#context.records.read([this.#field], startedAt)
    this.#readAt = this.#now
    return this.#take(text)
  }

  /** Takes the record as it is in the store. */
  #take(text: string | undefined): AdaptiveRecord {
    if (this.#record && text === this.#text) return this.#record
    return this.#keep(decodeRecord(text, this.#bounds) ?? firstRecord(this.#bounds), text)
  }

  #keep(record: AdaptiveRecord, text: string | undefined): AdaptiveRecord {
    const isOther = record.turn !== this.#record?.turn
    this.#record = record
    this.#text = text
    this.#sameSince = this.#now
    if (isOther) {
      this.#own = NO_SUMS
      // Until others know of a fall, they make more calls than that.
      this.#samples.restart(this.limit, this.#now, record.state.phase === 'falling' ? PERIOD_MS : 0)
    }
    return record
  }

  /** Writes what calls have shown, if nobody has written for a while. */
  #writeIfDue(waitUntil?: WaitUntil): void {
    const now = this.#now
    const isWriting = isFresh(this.#writingSince, now, CUT_OFF_MS)
    if (!this.#record || isWriting || isFresh(this.#sameSince, now, PERIOD_MS)) return
    const { floorMs } = this.#record.state
    const overdueMs = floorMs > 0 ? OVERDUE * floorMs : OVERDUE_MS
    this.#own = addSums(this.#own, this.#samples.take(now, floorMs, overdueMs))
    if (this.#own.calls === 0) return
    this.#writingSince = now
    runInBackground(this.#write(this.#next(this.#record, now)), waitUntil)
  }

  /** Adds what this isolate has seen, and takes a step if that is enough. */
  #next(record: AdaptiveRecord, now: number): AdaptiveRecord {
    const { turn, state } = record
    const sums = addSums(record.sums, this.#own)
    const since = record.sums.calls === 0 && turn === 0 ? now : record.since
    const measured = measure(sums, state.limit, this.#bounds.isRate)
    if (!isEnough(state, measured, now - since)) return { turn, since, state, sums }
    return {
      turn: turn + 1,
      since: now,
      state: adapt(state, measured, this.#bounds),
      sums: NO_SUMS,
    }
  }

  async #write(next: AdaptiveRecord): Promise<void> {
    const { key, field } = this.#field
    const text = encodeRecord(next)
    const write = { key, set: { [field]: text }, ttlMs: TTL_MS }
    try {
      // Otherwise others were faster: the next read shows what they have written.
      if (await this.#context.records.write([write], { key, field, is: this.#text })) {
        this.#writes += 1
        this.#own = NO_SUMS
        this.#keep(next, text)
      }
    } catch {
      // The store reports its own failures. The results of calls are written later.
      this.#sameSince = this.#now
    } finally {
      this.#writingSince = -Infinity
    }
  }

  get #now(): number {
    return this.#context.clock()
  }
}
