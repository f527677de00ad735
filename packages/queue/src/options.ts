import type { ConfigError } from '@sluice/core'
import { InputError, type Cost, type Duration, type Subject } from '@sluice/core'
import { invalidOption } from '@sluice/core/internal'
import {
  assertCost,
  assertSubject,
  costIn,
  type LimiterRuntime,
} from '@sluice/core/internal/limiter'

/** Options of `limitedQueue`. */
export interface LimitedQueueOptions<Data, Dimension extends string = string, Unit = string> {
  /** Names the queue in the store: 1 to 64 letters, digits, `-` or `_`. */
  readonly name: string
  /**
   * The dimensions whose values take turns. The jobs of one value run in their order; a value whose limit is reached
   * waits alone. @default ['tenant']
   */
  readonly between?: readonly (Dimension | 'tenant' | 'user' | 'route' | 'model' | 'plan')[]
  /**
   * The weight of a subject: with 2, it gets two turns for each turn of a subject with 1. From 0.001 to 1,000.
   *
   * @default 1
   */
  readonly weight?: (subject: Subject) => number
  /**
   * The unit of the cost by which turns are measured, such as `'token'`: a large job is then a long turn.
   *
   * @default each job is one turn
   */
  readonly measure?: Unit
  /**
   * Checks the data of a job, as `Schema.parse` does, and gives it its type: in `add`, and before a job runs. If it
   * throws there, the job fails for good. @default the data is `unknown`
   */
  readonly parse?: (data: unknown) => Data
  /** The most attempts of a job. One whose worker was lost counts. @default 5 */
  readonly attempts?: number
  /** The time before the second attempt. It doubles with each, up to ten minutes, and varies by a fifth. @default '1s' */
  readonly backoff?: Duration
  /**
   * The time after which the job of a worker that says nothing is given to another. A worker says something every third
   * of it. At least five seconds. @default '30s'
   */
  readonly lease?: Duration
  /** The time for which failed jobs are kept. @default '14d' */
  readonly keepFailed?: Duration
  /** The most jobs in the queue, with those that have failed. @default 1_000_000 */
  readonly maxJobs?: number
}

/** Options of one job. */
export interface AddOptions<Dimension extends string, Unit extends string, Plan extends string> {
  /** The subject that its limits count, as in `check`. It has the dimensions of `between`. */
  readonly subject: Subject<Dimension, Plan>
  /** The cost that is reserved when it runs. @default 1 request */
  readonly cost?: Cost<Unit>
  /**
   * Your id: a job with the id of one that is in the queue, or among the failed, is not added. 1 to 128 characters:
   * letters, digits and `-_.:/@+=`. @default a new one
   */
  readonly id?: string
  /** The place among the jobs of its subject: from 0, the first, to 9. @default 5 */
  readonly priority?: number
  /** The time before it may run. @default none */
  readonly delay?: Duration
  /** The longest wait. A job that has not begun after it fails. @default none */
  readonly waitAtMost?: Duration
}

/** A job that was added, or was there before. */
export interface AddedJob {
  readonly id: string
  /** False if the queue had a job of this id. */
  readonly isNew: boolean
}

/** A queue in front of a limit. Its other functions are `work`, `countJobs`, `failedJobs`, `retryJobs`, `removeJobs`. */
export interface LimitedQueue<
  Data = unknown,
  Dimension extends string = string,
  Unit extends string = string,
  Plan extends string = string,
> {
  readonly name: string
  /**
   * Adds a job. When it resolves, the store has the job. One round trip.
   *
   * @throws InputError `invalid_job` when it is no JSON, or above 64 kB; `queue_full`; and as a limiter's `check` does.
   * @throws StoreError When the store fails. With an `id` of yours, it is safe to add it again.
   */
  add(data: Data, options: AddOptions<Dimension, Unit, Plan>): Promise<AddedJob>
  /**
   * Adds jobs: some 100 in a round trip.
   *
   * @throws As `add` does. All are checked before the first is added; only if the queue becomes full, or the store fails,
   * those before are added.
   */
  addAll(
    jobs: readonly (AddOptions<Dimension, Unit, Plan> & { readonly data: Data })[],
  ): Promise<AddedJob[]>
}

/** Options of `work`. */
export interface WorkOptions {
  /** The most jobs that run at a time, at most 1,000. @default 10 */
  readonly concurrency?: number
  /**
   * The longest time between two looks for jobs that other processes have added. While there is nothing to do, each look
   * is one script call. @default '5s'
   */
  readonly lookEvery?: Duration
  /**
   * Ends the worker when there is nothing to do now, such as in a scheduled function; with an error, if the store fails
   * three times in a row. @default false
   */
  readonly untilIdle?: boolean
  /** Ends the worker. @default none */
  readonly signal?: AbortSignal
  /** Called with the id of each job that has failed for good, in the worker that noticed. @default logs it */
  readonly onFailed?: (id: string) => void
}

/** A worker that runs. */
export interface Worker {
  /** Resolves when it has ended: after `stop`, its `signal`, or, with `untilIdle`, when there was nothing to do. */
  readonly ended: Promise<void>
  /**
   * Claims no more jobs, and waits for those that run: for `timeout` at most. Then their signals abort, and they are given
   * back.
   */
  stop(options?: { readonly timeout?: Duration }): Promise<void>
}

export const invalid = (option: string, rule: string, given: unknown): ConfigError =>
  invalidOption(`limitedQueue.${option}`, rule, given)

export function assertBetween(between: unknown): void {
  const isList = Array.isArray(between) && between.length > 0
  if (isList && between.every((one) => typeof one === 'string' && one !== '')) return
  throw invalid('between', 'must be a list of dimensions, such as ["tenant"]', between)
}

export function assertMeasure(measure: unknown, { program }: LimiterRuntime): void {
  if (measure === undefined || program.units.has(measure as string)) return
  const rule = `must be a unit that the limiter's policies count: ${[...program.units].join()}`
  throw invalid('measure', rule, measure)
}

const ID = /^[\w.:/@+=-]{1,128}$/

export function assertJob(id: unknown, priority: unknown): void {
  if (typeof id !== 'string' || !ID.test(id)) {
    throw new InputError('invalid_job', 'id', 'must be 1 to 128 letters, digits or "-_.:/@+="')
  }
  if (Number.isInteger(priority) && (priority as number) >= 0 && (priority as number) <= 9) return
  throw new InputError('invalid_job', 'priority', 'must be a whole number from 0 (first) to 9')
}

/** Finds a mistake when a job is added, not when it runs. @throws InputError As a limiter's `check` does. */
export function assertCall(
  subject: unknown,
  cost: Cost | undefined,
  { program }: LimiterRuntime,
): void {
  assertSubject(subject)
  assertCost(cost, program.units)
  for (const { unit, routes } of program.policies) if (!routes) costIn(cost, unit)
}

export const sizeOf = (cost: Cost | undefined, measure: string | undefined): number =>
  measure === undefined ? 1 : costIn(cost, measure)

export function weightOf(weight: (subject: Subject) => number, subject: Subject): number {
  const value = weight(subject)
  if (typeof value === 'number' && value >= 0.001 && value <= 1_000) return value
  throw invalid('weight', 'must return a number from 0.001 to 1,000', value)
}
