import { durationMs, InputError, type Limiter } from '@sluice/core'
import {
  assertFunction,
  assertKnownOptions,
  assertName,
  assertPositiveInteger,
  invalidOption,
} from '@sluice/core/internal'
import { runtimeOf, type LimiterRuntime } from '@sluice/core/internal/limiter'
import { flowOf, lengthOf } from './flow.ts'
import { assertParsed, encodeJob } from './job.ts'
import {
  assertBetween,
  assertCall,
  assertJob,
  assertMeasure,
  invalid,
  sizeOf,
  weightOf,
  type AddedJob,
  type AddOptions,
  type LimitedQueue,
  type LimitedQueueOptions,
} from './options.ts'
import { ADD, operationOf } from './state/operations.ts'
import type { NewJob, QueueRequest } from './state/requests.ts'

/** A queue, for the functions of this package. */
export interface QueueParts<Data = unknown> {
  readonly name: string
  readonly limiter: Limiter
  readonly runtime: LimiterRuntime
  readonly parse: (data: unknown) => Data
  readonly attempts: number
  readonly backoffMs: number
  readonly leaseMs: number
  readonly keepFailedMs: number
  /** Functions that wake the workers of this process. */
  readonly listeners: Set<() => void>
  readonly time: () => QueueRequest
}

const parts = new WeakMap<object, QueueParts>()

/** The listeners of each queue, by the limiter's store and the queue's name. */
const listening = new WeakMap<object, Map<string, Set<() => void>>>()

function listenersOf(store: object, name: string): Set<() => void> {
  const byName = listening.get(store) ?? new Map<string, Set<() => void>>()
  listening.set(store, byName)
  const listeners = byName.get(name) ?? new Set()
  byName.set(name, listeners)
  return listeners
}

/** @throws ConfigError Unless `limitedQueue` has created it. */
export function partsOf<Data>(queue: LimitedQueue<Data, never, never, never>): QueueParts<Data> {
  const found = parts.get(queue)
  if (found) return found as QueueParts<Data>
  throw invalidOption('queue', 'must be created by limitedQueue')
}

/** The most jobs, and the most characters of them, in one call. */
const MAX_ADDED = 100
const MAX_CHARACTERS = 256_000

const LEAST_LEASE_MS = 5_000

const OPTIONS = [
  'name',
  'between',
  'weight',
  'measure',
  'parse',
  'attempts',
  'backoff',
  'lease',
  'keepFailed',
  'maxJobs',
]
const ADD_OPTIONS = ['data', 'subject', 'cost', 'id', 'priority', 'delay', 'waitAtMost']

/**
 * Creates a queue in front of a limiter: a job waits until the limits have room for it, instead of failing. Jobs are
 * kept in the limiter's store, which must be in Redis, or in memory for tests. They run at least once, in fair turns.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * export const summaries = limitedQueue(limiter, { name: 'summaries', parse: Document.parse })
 * await summaries.add({ url }, { subject: { tenant: 'acme' }, cost: { token: 2_000 } })
 */
export function limitedQueue<
  Dimension extends string,
  Unit extends string,
  Plan extends string,
  Data = unknown,
>(
  limiter: Limiter<Dimension, Unit, Plan>,
  options: LimitedQueueOptions<Data, NoInfer<Dimension>, NoInfer<Unit>>,
): LimitedQueue<Data, Dimension, Unit, Plan> {
  const runtime = runtimeOf(limiter)
  assertKnownOptions('limitedQueue', options, OPTIONS)
  const { between = ['tenant'], weight = () => 1, measure } = options
  const { parse = (data: unknown) => data as Data } = options
  assertFunction('limitedQueue.weight', weight)
  assertFunction('limitedQueue.parse', parse)
  assertBetween(between)
  assertMeasure(measure, runtime)
  const maxJobs = assertPositiveInteger('limitedQueue.maxJobs', options.maxJobs ?? 1_000_000)
  const leaseMs = durationMs('limitedQueue.lease', options.lease ?? '30s')
  if (leaseMs < LEAST_LEASE_MS) {
    throw invalid('lease', 'must be at least five seconds', options.lease)
  }
  const queueParts: QueueParts<Data> = {
    name: assertName('limitedQueue.name', options.name),
    limiter,
    runtime,
    parse,
    attempts: assertPositiveInteger('limitedQueue.attempts', options.attempts ?? 5, 1_000),
    backoffMs: durationMs('limitedQueue.backoff', options.backoff ?? '1s'),
    leaseMs,
    keepFailedMs: durationMs('limitedQueue.keepFailed', options.keepFailed ?? '14d'),
    listeners: listenersOf(runtime.store, options.name),
    time: () => ({ now: runtime.clock(), clockIsInjected: runtime.clockIsInjected }),
  }
  const { name, listeners } = queueParts

  type Added = AddOptions<Dimension, Unit, Plan> & { readonly data: Data }

  async function newJob(given: Added): Promise<NewJob> {
    assertKnownOptions('job', given, ADD_OPTIONS)
    const { data, subject, cost, id = crypto.randomUUID(), priority = 5, delay, waitAtMost } = given
    assertJob(id, priority)
    assertCall(subject, cost, runtime)
    const delayMs = delay === undefined ? 0 : durationMs('delay', delay)
    const waitMs = waitAtMost === undefined ? 0 : durationMs('waitAtMost', waitAtMost)
    if (waitMs > 0 && waitMs <= delayMs) {
      throw new InputError('invalid_job', 'waitAtMost', 'must be longer than the delay')
    }
    const payload = encodeJob({ data, subject, cost, at: runtime.clock() })
    assertParsed(parse(data))
    const length = lengthOf(sizeOf(cost, measure), weightOf(weight, subject))
    return { id, flow: await flowOf(subject, between), length, priority, delayMs, waitMs, payload }
  }

  async function send(jobs: readonly NewJob[]): Promise<AddedJob[]> {
    const data = { jobs, maxJobs, ...queueParts.time() }
    const added = await runtime.store.run(operationOf(ADD, name, data))
    for (const listener of listeners) listener()
    if (added.includes('full')) {
      throw new InputError('queue_full', 'queue', `is full: it has ${maxJobs} jobs (maxJobs)`)
    }
    return jobs.map(({ id }, at) => ({ id, isNew: added[at] === 'added' }))
  }

  const queue: LimitedQueue<Data, Dimension, Unit, Plan> = Object.freeze({
    name,
    add: async (data: Data, given: AddOptions<Dimension, Unit, Plan>) => {
      const [added] = await send([await newJob({ ...given, data })])
      return added as AddedJob
    },
    async addAll(given: readonly Added[]) {
      if (!Array.isArray(given)) throw new InputError('invalid_job', 'jobs', 'must be a list')
      const jobs: NewJob[] = []
      // All are checked before the first is sent.
      for (const one of given as readonly Added[]) jobs.push(await newJob(one))
      const added: AddedJob[] = []
      for (const batch of batchesOf(jobs)) added.push(...(await send(batch)))
      return added
    },
  })
  parts.set(queue, queueParts)
  return queue
}

/** Divides jobs into as many as one call takes. */
function batchesOf(jobs: readonly NewJob[]): readonly NewJob[][] {
  const batches: NewJob[][] = []
  let batch: NewJob[] = []
  let characters = Infinity
  for (const job of jobs) {
    characters += job.payload.length
    if (batch.length === MAX_ADDED || characters > MAX_CHARACTERS) {
      batches.push((batch = []))
      characters = job.payload.length
    }
    batch.push(job)
  }
  return batches
}
