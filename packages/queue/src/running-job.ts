/* One job of a worker, from its claim to its result. */
import { durationMs, SluiceError, StoreError, type Cost } from '@sluice/core'
import { delay } from '@sluice/core/internal/http'
import { endFailed, reservationId, reserveJob, type JobCharge } from './charge.ts'
import { LONGEST_WAIT_MS, waitMsOf } from './denial.ts'
import { assertParsed, decodeJob, JobError, type Job } from './job.ts'
import type { QueueParts } from './limited-queue.ts'
import type { ClaimedJob, Result } from './state/requests.ts'

/** Runs a job. Returns what it has used; nothing if that is what was reserved. Throws if it has failed. */
export type Handler<Data, Unit extends string = string> = (
  job: Job<Data, Unit>,
) => Cost<Unit> | void | Promise<Cost<Unit> | void>

/** The pause of the whole queue while the limiter's store fails, in milliseconds. */
const STORE_PAUSE_MS = 2_000

const LONGEST_BACKOFF_MS = 600_000

export class RunningJob<Data> {
  readonly claimed: ClaimedJob
  readonly #parts: QueueParts<Data>
  readonly #abort = new AbortController()
  #data: Data | undefined
  #charge: JobCharge | undefined
  /** The time of its claim, by the store's clock. */
  readonly #now: number
  /** The time until which no other worker gets it, by this machine's clock in epoch ms. */
  leaseEndsAt: number

  constructor(claimed: ClaimedJob, parts: QueueParts<Data>, now: number, leaseEndsAt: number) {
    this.claimed = claimed
    this.#parts = parts
    this.#now = now
    this.leaseEndsAt = leaseEndsAt
  }

  get id(): string {
    return this.claimed.id
  }

  get claim(): number {
    return this.claimed.claim
  }

  /** True if its last two workers were lost: it may be the reason, so it runs without others that would be lost with it. */
  get mustRunAlone(): boolean {
    return this.claim - this.claimed.lostFrom >= 2
  }

  get flow(): string {
    return this.claimed.flow
  }

  /** Ends its work as soon as its handler allows. */
  abort(reason: string): void {
    this.#abort.abort(new Error(`Sluice: ${reason}`))
  }

  /** Reserves what it costs. Returns the time to wait before it runs, in milliseconds, or how else it goes on. */
  async reserve(): Promise<number | Result> {
    const { limiter, name, parse } = this.#parts
    const { id, payload } = this.claimed
    const { data, subject, cost } = decodeJob(payload)
    const idOf = (number: number): Promise<string> => reservationId(name, id, number)
    try {
      this.#data = assertParsed(parse(data))
    } catch (error) {
      return this.#failed(messageOf(error), true, 0, '')
    }
    try {
      const claim = { ...this.claimed, now: this.#now }
      const reserved = await reserveJob({ limiter, subject, cost, idOf }, claim)
      if (reserved.isAllowed === undefined) return this.back('queue', STORE_PAUSE_MS, false)
      if (reserved.isAllowed) {
        this.#charge = reserved.charge
        return reserved.delayMs
      }
      const { violated } = reserved.decision
      const fitsInMs = waitMsOf(reserved.decision)
      if (fitsInMs === null) {
        const problem = `the job never fits: its cost is above the limit of policy "${violated?.name}"`
        return this.#failed(problem, true, 0, '')
      }
      const waitMs = Math.min(Math.max(1, fitsInMs), LONGEST_WAIT_MS)
      return this.back(this.#isForAll(violated?.name) ? 'queue' : 'flow', waitMs, true)
    } catch (error) {
      if (error instanceof StoreError) return this.back('queue', STORE_PAUSE_MS, false)
      // The limiter cannot decide about it, now or later; a function of yours that has thrown may yet do so.
      const isFinal = error instanceof SluiceError || this.#isLastAttempt()
      return this.#failed(messageOf(error), isFinal, this.#backoff(), '')
    }
  }

  /** Runs it, and calls `begun` right before its handler. Never throws. */
  async run(handle: Handler<Data>, delayMs: number, begun: () => void): Promise<Result> {
    const { signal } = this.#abort
    const charge = this.#charge as JobCharge
    try {
      await delay(delayMs, signal)
      signal.throwIfAborted()
      // A lease is renewed each third of it. One that is half over was not: another worker may get the job while it runs.
      if (Date.now() > this.leaseEndsAt - this.#parts.leaseMs / 2) return this.#notBegun(charge)
      begun()
      const used = await handle(this.#job())
      const settlement = charge.settlement(used ?? undefined)
      return { kind: 'done', id: this.id, claim: this.claim, settlement }
    } catch (error) {
      return this.#afterError(error, charge)
    }
  }

  /** The result of a job that was not even reserved for. The rest of lost claims is then still there. */
  notReserved(): Result {
    return this.back('nobody', 0, this.claimed.lostFrom === this.claim)
  }

  /** The result of a job that has not run to its end, and is not to blame. */
  back(who: 'flow' | 'queue' | 'nobody', delayMs: number, isClean: boolean, held = ''): Result {
    const { id, claim } = this
    return { kind: 'back', id, claim, who, delayMs, isClean, held }
  }

  /** Gives back what it has reserved, because another worker has it. Never throws. */
  async forget(): Promise<void> {
    await this.#charge?.cancel().catch(() => {})
  }

  async #afterError(error: unknown, charge: JobCharge): Promise<Result> {
    if (this.#abort.signal.aborted) return this.#givenBack(charge)
    const { retry, used } = error instanceof JobError ? error : {}
    const message = messageOf(error)
    const isFinal = retry === false || this.#isLastAttempt()
    const delayMs = retry ? durationMs('retry', retry) : this.#backoff()
    const { limiter, runtime, name } = this.#parts
    const report = (invalid: unknown): void => {
      const problem = `A JobError of the queue "${name}" says in \`used\` what is no cost; its estimate stays charged`
      runtime.events.problem({ code: 'reservation_lost', message: problem, error: invalid })
    }
    try {
      const held = await endFailed(limiter, charge, used, report)
      return this.#failed(message, isFinal, delayMs, held)
    } catch {
      return this.back('queue', STORE_PAUSE_MS, false)
    }
  }

  /** The result of a job that may be another worker's already, which does not know of this charge. */
  async #notBegun(charge: JobCharge): Promise<Result> {
    const isClean = await charge.cancel().then(
      () => true,
      () => false,
    )
    return this.back('nobody', 0, isClean)
  }

  /** The result of a job whose worker stops: its units stay charged, its calls in flight are over. */
  async #givenBack(charge: JobCharge): Promise<Result> {
    const held = await charge.keep().catch(() => undefined)
    return this.back('nobody', 0, held !== undefined, held)
  }

  #failed(error: string, isFinal: boolean, delayMs: number, held: string): Result {
    const { id, claim } = this
    const text = error.slice(0, 1_000)
    return { kind: 'failed', id, claim, delayMs, isFinal, held, error: text }
  }

  #job(): Job<Data> {
    const { id, attempt, payload } = this.claimed
    const { subject, cost, at } = decodeJob(payload)
    return {
      id,
      data: this.#data as Data,
      subject,
      cost,
      attempt,
      addedAt: at,
      signal: this.#abort.signal,
    }
  }

  /** Returns true if a policy counts everyone together: then nobody else's job fits, either. */
  #isForAll(policy: string | undefined): boolean {
    const rule = this.#parts.runtime.program.policies.find(({ name }) => name === policy)
    return rule?.per === 'global' && !rule.numbers
  }

  #isLastAttempt(): boolean {
    return this.claimed.attempt >= this.#parts.attempts
  }

  #backoff(): number {
    const ms = this.#parts.backoffMs * 2 ** (this.claimed.attempt - 1)
    return Math.round(Math.min(ms, LONGEST_BACKOFF_MS) * (1 + Math.random() / 5))
  }
}

function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return 'an error that cannot be shown'
  }
}
