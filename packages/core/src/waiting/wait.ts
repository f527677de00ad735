/* The wait of one request: it stands in lines, sleeps until its time, and looks. */
import type { DecideCall, Outcome } from '../limiter/outcome.ts'
import { decidedBy, type LimiterRuntime } from '../limiter/runtime.ts'
import type { Entry } from '../stores/store.ts'
import { systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { delay } from '../http/guard/delay.ts'
import { runInBackground } from '../internal/background.ts'
import { decide } from '../limiter/decide.ts'
import { isLine, longestLine, type LongestLine } from './longest-line.ts'
import { leaveOperation, standOperation } from './stand.ts'

/** Options of `waitFor`. */
export interface WaitForOptions {
  /** Ends the wait, such as `request.signal` when the client hangs up. The request is then denied. @default none */
  readonly signal?: AbortSignal | undefined
  /** Called when a wait is over. Exceptions are logged. @default none */
  readonly onWaited?: ((waited: Waited) => void) | undefined
}

/** A wait that is over. */
export interface Waited {
  readonly outcome:
    /** It was let in. */
    | 'allowed'
    /** It was denied: it would have taken too long, or another limit denies it. */
    | 'denied'
    /** The signal ended it. */
    | 'aborted'
    /** The store failed. */
    | 'failed'
  readonly waitedMs: number
  /** The number of times it looked whether it fits, from 0 to 5. Each look is one or two calls to the store. */
  readonly looks: number
}

/** The most looks of a request. Workers on the free plan may make 50 calls. */
const MAX_LOOKS = 5

/** The looks of these that are made half-way: the others are for what turns out to take longer. */
const HALF_WAY_LOOKS = 2

/** Above this, a request looks half-way whether it fits earlier, in milliseconds. */
const HALVED_ABOVE_MS = 4_000

/** The pause after which it looks first whether those before it have left, in milliseconds. */
const FIRST_LOOK_MS = 1_000

/** The pauses before it tells a store that has failed again that it has left. Until then, its place holds up others. */
const LEAVE_AGAIN_MS = [1_000, 5_000, 20_000]

/** Added to each wait: timers may be a millisecond early. */
const TIMER_SLACK_MS = 2

/** A request that waits until it fits. Each of its looks is a decision of its own: its limit may have changed. */
export class Wait {
  readonly #runtime: LimiterRuntime
  readonly #call: DecideCall
  readonly #deadline: number
  readonly #options: WaitForOptions
  readonly #ticket = newTicket()
  readonly #joined = new Set<string>()
  /** The entries that the store was asked for last. */
  #entries: readonly Entry[] = []
  /** The first decision is no look. */
  #looks = -1
  /** The time at which it fits, while it sleeps until then. */
  #dueAt: number | undefined

  /** @param runtime One that decides at once. */
  constructor(runtime: LimiterRuntime, call: DecideCall, waitMs: number, options: WaitForOptions) {
    this.#runtime = decidedBy(runtime, (request) => {
      this.#entries = request.entries.map((entry) =>
        isLine(entry.policy) ? { ...entry, ticket: this.#ticket } : entry,
      )
      return { ...request, entries: this.#entries }
    })
    this.#call = call
    this.#options = options
    this.#deadline = systemClock() + waitMs
  }

  /** Decides, and waits if it has to. */
  async run(): Promise<Outcome> {
    let outcome = await this.#decide(true)
    const line = this.#lineOf(outcome)
    if (!line) return outcome
    const begun = systemClock()
    const { policy } = line.limit
    this.#emit(policy.name, 'begun', 0)
    let end: Waited['outcome'] = 'failed'
    try {
      end = await this.#wait(line, (next) => {
        outcome = next
      })
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      const message = `A request could not wait, and was denied: ${error.message}`
      this.#runtime.events.problem({ code: error.code, message, error })
    } finally {
      if (end !== 'allowed') await this.#leave()
      const waitedMs = systemClock() - begun
      this.#emit(policy.name, end, waitedMs)
      this.#note(end, waitedMs)
    }
    return outcome
  }

  async #wait(first: LongestLine, take: (outcome: Outcome) => void): Promise<Waited['outcome']> {
    let line = first
    while (this.#looks < MAX_LOOKS) {
      // A wait that is too long even without others needs no line.
      if (line.fitsAt > this.#deadline) return 'denied'
      const dueMs = await this.#stand(line).catch((error: unknown) => this.#dueAsTold(error))
      if (dueMs === undefined) return 'denied'
      this.#dueAt = systemClock() + dueMs
      const isFar = dueMs > HALVED_ABOVE_MS && this.#looks < HALF_WAY_LOOKS
      const pauseMs = isFar ? this.#halfOf(dueMs, line) : dueMs > 0 ? dueMs + TIMER_SLACK_MS : 0
      if (!(await delay(pauseMs, this.#options.signal))) return 'aborted'
      if (isFar) {
        const outcome = await this.#decide(false)
        if (outcome.decision.degraded) continue
        if (!outcome.decision.allowed) {
          take(outcome)
          if (outcome.decision.retryAfterMs === null) return 'denied'
          line = this.#lineOf(outcome) ?? line
          continue
        }
      }
      this.#dueAt = undefined
      const outcome = await this.#decide(true)
      take(outcome)
      if (outcome.decision.degraded || outcome.unanswered) return 'failed'
      if (outcome.decision.allowed) return 'allowed'
      const next = this.#lineOf(outcome)
      if (!next) return 'denied'
      line = next
    }
    return 'denied'
  }

  /** Returns the time until it looks half-way. The first look is earlier if the wait alone is shorter. */
  #halfOf(dueMs: number, { aloneAt }: LongestLine): number {
    const halfMs = Math.ceil(dueMs / 2)
    if (this.#looks > 0) return halfMs
    return Math.min(halfMs, Math.max(FIRST_LOOK_MS, aloneAt - systemClock()))
  }

  /** Decides, or only looks: what is decided half-way without the store would be charged in memory. */
  #decide(apply: boolean): Promise<Outcome> {
    this.#looks += 1
    return decide(this.#runtime, apply ? this.#call : { ...this.#call, apply, markFor: undefined })
  }

  /** Returns the line to wait in after a denial. */
  #lineOf({ decision, reply, unanswered }: Outcome): LongestLine | undefined {
    if (decision.allowed || decision.degraded || unanswered) return undefined
    return longestLine(this.#entries, reply.verdicts)
  }

  /** Stands in a line. Returns the time until it is due, or `undefined` if it does not wait so long. */
  async #stand({ line, limit }: LongestLine): Promise<number | undefined> {
    const { now, clockIsInjected, startedAt } = this.#time()
    const longestMs = this.#deadline - startedAt
    if (longestMs < 0) return undefined
    const { key } = line
    // If no answer comes, it may stand there.
    this.#joined.add(key)
    const operation = standOperation({ line, limit, now, clockIsInjected, longestMs }, startedAt)
    const standing = await this.#runtime.store.run(operation)
    if (standing.is === 'waiting') return standing.dueMs
    this.#joined.delete(key)
    return undefined
  }

  /** Returns the time that is left of what it was told, if it could not look half-way. Otherwise it throws the error. */
  #dueAsTold(error: unknown): number {
    if (this.#dueAt === undefined || !(error instanceof StoreError)) throw error
    return Math.max(0, this.#dueAt - systemClock())
  }

  /** Leaves all lines; what the store does not take now, it is told again later. */
  async #leave(): Promise<void> {
    if (await this.#hasLeft()) return
    runInBackground(this.#leaveLater())
  }

  async #leaveLater(): Promise<void> {
    for (const pauseMs of LEAVE_AGAIN_MS) {
      await delay(pauseMs)
      if (await this.#hasLeft()) return
    }
  }

  async #hasLeft(): Promise<boolean> {
    const { now, clockIsInjected, startedAt } = this.#time()
    const data = { ticket: this.#ticket, now, clockIsInjected }
    const leaving = Array.from(this.#joined, async (key) => {
      await this.#runtime.store.run(leaveOperation(key, data, startedAt))
      this.#joined.delete(key)
    })
    await Promise.allSettled(leaving)
    return this.#joined.size === 0
  }

  #time() {
    const { clock, clockIsInjected } = this.#runtime
    return { now: clock(), clockIsInjected, startedAt: systemClock() }
  }

  #emit(policy: string, outcome: Waited['outcome'] | 'begun', waitedMs: number): void {
    const { subject } = this.#call
    this.#runtime.events.wait?.({ policy, subject, outcome, waitedMs })
  }

  #note(outcome: Waited['outcome'], waitedMs: number): void {
    try {
      this.#options.onWaited?.({ outcome, waitedMs, looks: this.#looks })
    } catch (error) {
      console.error('Sluice: onWaited failed:', error)
    }
  }
}

/** Returns a random number from 1 to 2^32. */
const newTicket = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) + 1
