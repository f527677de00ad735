/* The function `waitFor`: a limiter whose requests wait until they fit. */
import type { Duration } from '../internal/duration.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { Store, StoreReply, StoreRequest } from '../stores/store.ts'
import type { LinedEntries } from './stand.ts'
import { systemClock } from '../clock.ts'
import { ConfigError, StoreError } from '../errors.ts'
import { delay } from '../http/delay.ts'
import { durationMs } from '../internal/duration.ts'
import { assertFunction, assertKnownOptions } from '../internal/validation.ts'
import { limiterOf } from '../limiter/limiter.ts'
import { runtimeOf } from '../limiter/runtime.ts'
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
  /** How often it looked, from 1 to 5. Each look is one or two calls to the store. */
  readonly looks: number
}

/** The longest time to wait. Longer waits are for a queue. */
const LONGEST_WAIT_MS = 300_000

/** The most looks of a request. Workers on the free plan may make 50 calls. */
const MAX_LOOKS = 5

/** Above this, a request looks half-way whether it fits earlier, in milliseconds. */
const HALVED_ABOVE_MS = 4_000

/** Added to each wait: timers may be a millisecond early. */
const TIMER_SLACK_MS = 2

/**
 * Returns a limiter whose `check`, reservations and adapters wait at most this long for what would be denied, if each
 * policy that denies it has a `waitingLine`. What would take longer is denied at once. `peek` never waits.
 *
 * A request that waits costs three calls to the store, and at most 12.
 *
 * @param wait From a second to 5 minutes.
 * @throws ConfigError When `wait` is malformed or out of range, an option is unknown, or no policy has a line.
 * @example
 * const patient = waitFor(limiter, '20s', { signal: request.signal })
 * const decision = await patient.check({ tenant: 'acme' })
 */
export function waitFor<Dimension extends string, Unit extends string, Plan extends string>(
  limiter: Limiter<Dimension, Unit, Plan>,
  wait: Duration,
  options: WaitForOptions = {},
): Limiter<Dimension, Unit, Plan> {
  assertKnownOptions('waitFor', options, ['signal', 'onWaited'])
  const { onWaited, signal } = options
  if (onWaited !== undefined) assertFunction('waitFor.onWaited', onWaited)
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new ConfigError('invalid_option', 'waitFor.signal', 'must be an AbortSignal', signal)
  }
  const waitMs = assertWait('waitFor.wait', wait)
  return limiterOf(waitingRuntime('waitFor', limiter, waitMs, options)) as unknown as Limiter<
    Dimension,
    Unit,
    Plan
  >
}

/**
 * Returns the runtime of a limiter whose requests wait.
 *
 * @throws ConfigError When no policy of it has a line.
 */
export function waitingRuntime(
  factory: string,
  limiter: object,
  waitMs: number,
  options: WaitForOptions,
): LimiterRuntime {
  const runtime = runtimeOf(limiter)
  if (runtime.program.policies.some(isLine)) {
    return { ...runtime, store: waitingStore(runtime, waitMs, options) }
  }
  const message = 'must have a policy with a line: waitingLine(slidingWindow({ … }))'
  throw new ConfigError('invalid_option', `${factory}.limiter`, message)
}

/** Returns a wait in milliseconds. @throws ConfigError Unless it is from a second to 5 minutes. */
export function assertWait(option: string, wait: unknown): number {
  const waitMs = durationMs(option, wait)
  if (waitMs >= 1_000 && waitMs <= LONGEST_WAIT_MS) return waitMs
  const message = 'must be from "1s" to "5m"; for longer waits, use a queue'
  throw new ConfigError('invalid_duration', option, message, wait)
}

function waitingStore(runtime: LimiterRuntime, waitMs: number, options: WaitForOptions): Store {
  const { store } = runtime
  return {
    ...store,
    async check(request) {
      const reply = await store.check(request)
      if (!request.apply || !linesToJoin(request.entries, reply)) return reply
      return new Wait(runtime, request, waitMs, options).run(reply)
    },
  }
}

/** The wait of one request. */
class Wait {
  readonly #runtime: LimiterRuntime
  readonly #request: StoreRequest
  readonly #deadline: number
  readonly #options: WaitForOptions
  readonly #ticket = newTicket()
  readonly #begun = systemClock()
  #joined: readonly string[] = []
  #looks = 0

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
    let lines = linesToJoin(this.#request.entries, denied)
    while (lines && this.#looks < MAX_LOOKS) {
      this.#looks += 1
      const dueMs = await this.#stand(lines)
      if (dueMs === undefined) return 'denied'
      const isFar = dueMs > HALVED_ABOVE_MS && this.#looks < MAX_LOOKS
      const pauseMs = isFar ? Math.ceil(dueMs / 2) : dueMs > 0 ? dueMs + TIMER_SLACK_MS : 0
      if (!(await delay(pauseMs, this.#options.signal))) return 'aborted'
      if (isFar) continue
      const reply = await this.#runtime.store.check({ ...this.#request, ...this.#time() })
      take(reply)
      if (reply.degraded) return 'failed'
      if (isAllowed(this.#request, reply)) return 'allowed'
      lines = linesToJoin(this.#request.entries, reply)
    }
    return 'denied'
  }

  /** Stands in lines. Returns the time until all are due, or `undefined` if it does not wait so long. */
  async #stand(lines: readonly LinedEntries[]): Promise<number | undefined> {
    const { now, clockIsInjected, startedAt } = this.#time()
    const longestMs = this.#deadline - startedAt
    if (longestMs <= 0) return undefined
    this.#joined = [...new Set([...this.#joined, ...lines.map(({ line }) => line.key)])]
    const standings = await Promise.all(
      lines.map((each) =>
        this.#runtime.store.run(
          standOperation({ ...each, now, clockIsInjected, longestMs }, startedAt),
        ),
      ),
    )
    let dueMs = 0
    for (const standing of standings) {
      if (standing.is !== 'waiting') return undefined
      dueMs = Math.max(dueMs, standing.dueMs)
    }
    return dueMs
  }

  async #leave(): Promise<void> {
    const { now, clockIsInjected, startedAt } = this.#time()
    const data = { ticket: this.#ticket, now, clockIsInjected }
    const leaving = this.#joined.map((key) =>
      this.#runtime.store.run(leaveOperation(key, data, startedAt)),
    )
    // Who does not come to its time has left, too.
    await Promise.all(leaving).catch(() => {})
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

const isLine = ({ algorithm }: StoreRequest['policies'][number]): boolean => algorithm.id === 'line'

const isAllowed = ({ entries }: StoreRequest, { verdicts }: StoreReply): boolean =>
  entries.every(({ enforced }, at) => !enforced || verdicts[at]?.fits === true)

/** Returns the lines of the limits that deny, or `undefined` if nothing does, or one that has no line, or never fits. */
function linesToJoin(
  entries: StoreRequest['entries'],
  { verdicts, degraded }: StoreReply,
): readonly LinedEntries[] | undefined {
  if (degraded) return undefined
  const lines = new Set<LinedEntries['line']>()
  for (const [at, entry] of entries.entries()) {
    const verdict = verdicts[at]
    if (!entry.enforced || !verdict || verdict.fits) continue
    const line = entries.find(
      ({ policy }) => isLine(policy) && (policy === entry.policy || policy.follows === entry.policy),
    )
    if (!line || verdict.retryMs < 0) return undefined
    lines.add(line as LinedEntries['line'])
  }
  if (lines.size === 0) return undefined
  return [...lines].flatMap((line) => {
    const limit = entries.find(({ policy }) => policy === line.policy.follows)
    return limit ? [{ line, limit }] : []
  })
}

/** Returns a random number from 1 to 2^32. */
const newTicket = (): number => (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) + 1
