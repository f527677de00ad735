/* The loop of a worker: it reports results to the store, claims jobs, and sleeps until there is more to do. */
import { durationMs, StoreError, type Duration } from '@sluice/core'
import { JobEvents } from './job-events.ts'
import type { QueueParts } from './limited-queue.ts'
import type { Worker, WorkOptions } from './options.ts'
import { Outage } from './outage.ts'
import { Sleeper, within } from './sleeper.ts'
import { RunningJob, type Handler } from './running-job.ts'
import { Settling } from './settling.ts'
import { operationOf, TURN } from './state/operations.ts'
import type { Result, Turn } from './state/requests.ts'
import { workSettings, type WorkSettings } from './work-options.ts'

/** The most jobs to claim at a time. They reserve one after another, in their order. */
const MAX_CLAIMED = 25

/** The time that aborted jobs have to end, in milliseconds. */
const ABORT_MS = 1_000

/** The most results in one call: more are too many for a script. */
const MAX_RESULTS = 500

export class QueueWorker<Data> implements Worker {
  readonly ended: Promise<void>
  readonly #parts: QueueParts<Data>
  readonly #handle: Handler<Data>
  readonly #settings: WorkSettings
  /** Set if somebody listens. */
  readonly #events: JobEvents | undefined
  readonly #running = new Map<string, RunningJob<Data>>()
  /** The results that the store does not know. */
  #results: Result[] = []
  readonly #settling: Settling
  #isStopping = false
  #isOver = false
  #renewAt = Infinity
  #isStarting = false
  /** The most jobs to claim at a time: about as many as the limits have let begin of late. */
  #claims = MAX_CLAIMED
  readonly #sleeper = new Sleeper()
  readonly #outage = new Outage()
  /** Ends the wait of a job that is to run alone. */
  #onAlone: () => void = () => {}

  constructor(parts: QueueParts<Data>, handle: Handler<Data>, options: WorkOptions) {
    this.#parts = parts
    const { job } = parts.runtime.events
    this.#events = job && new JobEvents(parts.name, job)
    this.#handle = handle
    this.#settling = new Settling(parts, (result) => {
      if (result) this.#results.push(result)
      this.#sleeper.wake()
    })
    this.#settings = workSettings(parts.name, options)
    const { signal } = this.#settings
    if (signal?.aborted) this.#isStopping = true
    signal?.addEventListener('abort', this.#onAbort)
    const wake = (): void => this.#wake()
    parts.listeners.add(wake)
    this.ended = this.#loop().finally(() => {
      parts.listeners.delete(wake)
      signal?.removeEventListener('abort', this.#onAbort)
    })
    // An error is reported even if nobody waits for the end.
    this.ended.catch((error: unknown) => console.error('Sluice: A worker has ended:', error))
  }

  // `ended` rejects with an error.
  readonly #onAbort = (): void => void this.stop().catch(() => {})

  async stop({ timeout = '25s' }: { readonly timeout?: Duration } = {}): Promise<void> {
    const timeoutMs = durationMs('stop.timeout', timeout)
    this.#isStopping = true
    this.#wake()
    if (await within(this.ended, timeoutMs)) return
    for (const job of this.#running.values()) job.abort('The worker stops')
    if (await within(this.ended, ABORT_MS)) return
    // Their leases end by themselves.
    this.#isOver = true
    this.#wake()
    await this.ended
  }

  async #loop(): Promise<void> {
    const { concurrency, lookEveryMs, untilIdle } = this.#settings
    while (!this.#isOver) {
      this.#sleeper.look()
      this.#outage.sleeper.look()
      if (this.#isStopping && !this.#isBusy()) break
      // Jobs reserve in their order, so no more are claimed meanwhile.
      const free = this.#isStopping || this.#isStarting ? 0 : concurrency - this.#running.size
      const most = Math.min(this.#claims, free)
      const turn = await this.#turn(most)
      if (turn instanceof StoreError) {
        this.#outage.begin()
        if (untilIdle && this.#outage.isLong) throw turn
        await this.#pause()
        continue
      }
      this.#outage.end()
      if (this.#isStopping || this.#isAlone()) this.#onAlone()
      const isFull = turn.claimed.length === most
      if (turn.claimed.length > 0) void this.#start(turn, isFull)
      const waitMs = turn.nextAt - turn.now
      const isIdle = !isFull && waitMs > 0
      if (untilIdle && isIdle && !this.#isBusy()) break
      const isOver = this.#isStopping && !this.#isBusy()
      if (isOver || (most > 0 && !isIdle && !this.#isStarting)) continue
      const isAtCapacity = this.#isStopping || this.#running.size >= concurrency
      const lookMs = most > 0 ? Math.min(waitMs, lookEveryMs) : lookEveryMs
      await this.#sleep(isAtCapacity ? Infinity : lookMs)
    }
  }

  #wake(): void {
    this.#sleeper.wake()
    this.#outage.sleeper.wake()
  }

  #isBusy(): boolean {
    return this.#running.size > 0 || this.#results.length > 0 || this.#settling.count > 0
  }

  /** Reports results to the store, and claims new jobs. Returns the error if the store fails. */
  async #turn(most: number): Promise<Turn | StoreError> {
    const { name, runtime, leaseMs, attempts, keepFailedMs, time } = this.#parts
    const batch = this.#results.splice(0, MAX_RESULTS)
    const isDue = Date.now() >= this.#renewAt
    const renewed = isDue ? [...this.#running.values()] : []
    const results = [
      ...batch,
      ...renewed.map(({ id, claim }) => ({ kind: 'running' as const, id, claim })),
    ]
    const data = { results, most, leaseMs, maxAttempts: attempts, keepDeadMs: keepFailedMs }
    const leaseEndsAt = Date.now() + leaseMs
    let turn: Turn
    try {
      turn = await runtime.store.run(operationOf(TURN, name, { ...data, ...time() }))
    } catch (error) {
      // The store may have taken the results: it ignores those that it gets again.
      this.#results.unshift(...batch)
      if (!(error instanceof StoreError)) throw error
      const message = `${error.message}. The queue "${name}" waits for it`
      runtime.events.problem({ code: error.code, message })
      return error
    }
    this.#events?.ended(batch, turn)
    for (const [at, result] of batch.entries()) {
      if (result.kind === 'done' && turn.taken[at] === 'taken') void this.#settling.settle(result)
    }
    for (const job of turn.unsettled) void this.#settling.settle(job)
    for (const [at, job] of renewed.entries()) {
      if (turn.taken[batch.length + at] === 'taken') job.leaseEndsAt = leaseEndsAt
      else this.#lose(job)
    }
    if (isDue || turn.claimed.length > 0) {
      const every = leaseMs / 3
      this.#renewAt = isDue ? Date.now() + every : Math.min(this.#renewAt, Date.now() + every)
    }
    for (const id of turn.died) this.#settings.onFailed(id)
    for (const job of turn.claimed) {
      this.#running.set(job.id, new RunningJob(job, this.#parts, turn.now, leaseEndsAt))
    }
    return turn
  }

  /** Reserves for the jobs that were claimed, one after another, and runs them. */
  async #start({ claimed }: Turn, isFull: boolean): Promise<void> {
    const jobs = claimed.map(({ id }) => this.#running.get(id) as RunningJob<Data>)
    const alone = jobs.find(({ mustRunAlone }) => mustRunAlone)
    if (alone) return this.#startAlone(alone, jobs)
    this.#isStarting = true
    // After a denial for all, the next job would be denied, too; after one for a flow, the next of that flow.
    let isPaused = false
    const parked = new Set<string>()
    let begun = 0
    for (const job of jobs) {
      const isNext = !isPaused && !this.#isStopping && !parked.has(job.flow)
      const reserved = isNext ? await job.reserve() : job.notReserved()
      if (typeof reserved === 'number') {
        begun += 1
        void this.#run(job, reserved)
        continue
      }
      if (reserved.kind === 'back' && reserved.who === 'queue') isPaused = true
      if (reserved.kind === 'back' && reserved.who === 'flow') parked.add(job.flow)
      this.#end(job, reserved)
    }
    this.#claims = isPaused ? Math.max(1, begun) : Math.min(MAX_CLAIMED, 2 * this.#claims)
    this.#isStarting = false
    // Otherwise there is nothing to claim or report.
    if (isFull || this.#results.length > 0) this.#sleeper.wake()
  }

  /** Runs one of the jobs that were claimed when no other is left that would be lost with it, and gives the others back. */
  async #startAlone(job: RunningJob<Data>, claimed: readonly RunningJob<Data>[]): Promise<void> {
    this.#isStarting = true
    for (const other of claimed) if (other !== job) this.#end(other, other.notReserved())
    if (!this.#isAlone()) await new Promise<void>((resolve) => (this.#onAlone = resolve))
    const reserved = this.#isStopping ? job.notReserved() : await job.reserve()
    if (typeof reserved === 'number') await this.#run(job, reserved)
    else this.#end(job, reserved)
    this.#isStarting = false
    this.#sleeper.wake()
  }

  /** Returns true if the store knows the results of all jobs but one. */
  #isAlone(): boolean {
    return this.#running.size <= 1 && this.#results.length === 0 && this.#settling.count === 0
  }

  async #run(job: RunningJob<Data>, delayMs: number): Promise<void> {
    const begun = (): void => this.#events?.begun(job.claimed, this.#parts.runtime.clock())
    this.#end(job, await job.run(this.#handle, delayMs, begun))
  }

  /** Reports the result of a job, unless another worker has it: this one may have claimed it again, too. */
  #end(job: RunningJob<Data>, result: Result): void {
    if (this.#running.get(job.id) !== job) return void this.#settling.forget(job)
    this.#running.delete(job.id)
    this.#results.push(result)
    this.#sleeper.wake()
  }

  /** Another worker has the job. */
  #lose(job: RunningJob<Data>): void {
    this.#running.delete(job.id)
    job.abort('The lease of the job has ended')
    void this.#settling.forget(job)
  }

  /**
   * Waits after a failure: while there are leases, at most a tenth of one, so that an outage that is over before they end does
   * not lose them. Not only until they are to be renewed: that time may be past.
   */
  async #pause(): Promise<void> {
    const isHolding = this.#running.size > 0 || this.#results.length > 0
    const waitMs = Math.min(this.#outage.pauseMs, isHolding ? this.#parts.leaseMs / 10 : Infinity)
    // A worker that stops has little time to report how its jobs have ended.
    await (this.#isStopping ? this.#sleeper : this.#outage.sleeper).sleep(waitMs)
  }

  /** Waits, at most until leases are to be renewed, or something happens. */
  async #sleep(ms: number): Promise<void> {
    const renewMs = this.#running.size > 0 ? this.#renewAt - Date.now() : Infinity
    const waitMs = Math.min(ms, renewMs, this.#settings.lookEveryMs + this.#parts.leaseMs)
    await this.#sleeper.sleep(waitMs)
  }
}
