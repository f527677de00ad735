/* The wait of one request: it stands in lines, sleeps until its time, and looks. */
import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { StoreReply, StoreRequest } from '../stores/store.ts'
import type { LinedEntries } from './stand.ts'
import { systemClock } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { delay } from '../http/delay.ts'
import { runInBackground } from '../internal/background.ts'
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
  /** The number of times it looked, from 0 to 5. Each look is one or two calls to the store. */
  readonly looks: number
}

/** The most looks of a request. Workers on the free plan may make 50 calls. */
const MAX_LOOKS = 5

/** The looks of these that are made half-way: the others are for what turns out to take longer. */
const HALF_WAY_LOOKS = 2

/** Above this, a request looks half-way whether it fits earlier, in milliseconds. */
const HALVED_ABOVE_MS = 4_000

/** The pauses before it tells a store that has failed again that it has left. Until then, its place holds up others. */
const LEAVE_AGAIN_MS = [1_000, 5_000, 20_000]

/** Added to each wait: timers may be a millisecond early. */
const TIMER_SLACK_MS = 2

/** The wait of one request. */
export class Wait {
  readonly #runtime: LimiterRuntime
  readonly #request: StoreRequest
  readonly #deadline: number
  readonly #options: WaitForOptions
  readonly #ticket = newTicket()
  readonly #begun = systemClock()
  readonly #joined = new Set<string>()
  #looks = 0
  /** The time at which it fits, while it sleeps until then. */
  #dueAt: number | undefined

  constructor(
    runtime: LimiterRuntime,
    request: StoreRequest,
    waitMs: number,
    options: WaitForOptions,
  ) {
    this.#runtime = runtime
    this.#options = options
    this.#deadline = request.startedAt + waitMs
    const entries = request.entries.map((entry) =>
      isLine(entry.policy) ? { ...entry, ticket: this.#ticket } : entry,
    )
    this.#request = { ...request, entries }
  }

  async run(denied: StoreReply): Promise<StoreReply> {
    let reply = denied
    let outcome: Waited['outcome'] = 'denied'
    try {
      outcome = await this.#wait((next) => {
        reply = next
      }, denied)
    } catch (error) {
      outcome = 'failed'
      this.#report(error)
    }
    if (outcome !== 'allowed') await this.#leave()
    this.#note(outcome)
    return reply
  }

  async #wait(take: (reply: StoreReply) => void, denied: StoreReply): Promise<Waited['outcome']> {
    let longest = this.#next(denied)
    while (longest && this.#looks < MAX_LOOKS) {
      const dueMs = await this.#stand(longest).catch((error: unknown) => this.#dueAsTold(error))
      if (dueMs === undefined) return 'denied'
      this.#dueAt = systemClock() + dueMs
      const isFar = dueMs > HALVED_ABOVE_MS && this.#looks <= HALF_WAY_LOOKS
      const pauseMs = isFar ? Math.ceil(dueMs / 2) : dueMs > 0 ? dueMs + TIMER_SLACK_MS : 0
      if (!(await delay(pauseMs, this.#options.signal))) return 'aborted'
      if (isFar) continue
      this.#dueAt = undefined
      const reply = await this.#runtime.store.check({ ...this.#request, ...this.#time() })
      take(reply)
      if (reply.degraded) return 'failed'
      if (isAllowed(this.#request, reply)) return 'allowed'
      longest = this.#next(reply)
    }
    return 'denied'
  }

  /** Returns the line to wait in. Who would wait too long without those before it stands in none. */
  #next(reply: StoreReply): LongestLine | undefined {
    const longest = longestLine(this.#request.entries, reply)
    return longest && longest.retryMs <= this.#deadline - systemClock() ? longest : undefined
  }

  /** Stands in a line. Returns the time until it is due, or `undefined` if it does not wait so long. */
  async #stand({ line, limit }: LongestLine): Promise<number | undefined> {
    const { now, clockIsInjected, startedAt } = this.#time()
    const longestMs = this.#deadline - startedAt
    if (longestMs < 0) return undefined
    this.#looks += 1
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

  #report(error: unknown): void {
    if (!(error instanceof StoreError)) throw error
    const message = `A request could not wait, and was denied: ${error.message}`
    this.#runtime.events.problem({ code: error.code, message, error })
  }

  #note(outcome: Waited['outcome']): void {
    const waitedMs = systemClock() - this.#begun
    try {
      this.#options.onWaited?.({ outcome, waitedMs, looks: this.#looks })
    } catch (error) {
      console.error('Sluice: onWaited failed:', error)
    }
  }
}

/** Returns true for the line before a limit. */
export const isLine = ({ algorithm }: StoreRequest['policies'][number]): boolean =>
  algorithm.id === 'line'

const isAllowed = ({ entries }: StoreRequest, { verdicts }: StoreReply): boolean =>
  entries.every(({ enforced }, at) => !enforced || verdicts[at]?.fits === true)

/** A line to wait in, and the least that it takes, in milliseconds. */
interface LongestLine extends LinedEntries {
  readonly retryMs: number
}

/**
 * Returns the line of the limit that denies for the longest, or `undefined` if nothing denies, or one that has no line, or
 * for ever. Who waited in several at once would hold up all that wait for a shorter one.
 */
export function longestLine(
  entries: StoreRequest['entries'],
  { verdicts, degraded }: StoreReply,
): LongestLine | undefined {
  if (degraded) return undefined
  let longest: LongestLine | undefined
  for (const [at, entry] of entries.entries()) {
    const verdict = verdicts[at]
    if (!entry.enforced || !verdict || verdict.fits) continue
    const { retryMs } = verdict
    const limitPolicy = entry.policy.follows ?? entry.policy
    const limit = entries.find(({ policy }) => policy === limitPolicy)
    const line = entries.find(({ policy }) => isLine(policy) && policy.follows === limitPolicy)
    if (!line || !limit || retryMs < 0) return undefined
    if (longest && longest.retryMs >= retryMs) continue
    longest = { line: line as LinedEntries['line'], limit, retryMs }
  }
  return longest
}

/** Returns a random number from 1 to 2^32. */
const newTicket = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) + 1
