import { durationMs, InputError, type Cost, type Duration, type Subject } from '@sluice/core'

/** A job that a worker runs. */
export interface Job<Data, Unit extends string = string> {
  readonly id: string
  readonly data: Data
  readonly subject: Subject
  /** The cost that is reserved for it. `undefined` is 1 request. */
  readonly cost: Cost<Unit> | undefined
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** The time at which it was added, in epoch ms. */
  readonly addedAt: number
  /** Aborts when the job is no longer this worker's: its lease has ended, or the worker stops. Pass it to the model call. */
  readonly signal: AbortSignal
}

/** A job that has failed for good. */
export interface FailedJob<Data = unknown> {
  readonly id: string
  readonly data: Data
  readonly subject: Subject
  readonly attempts: number
  /** The time at which it failed, in epoch ms. */
  readonly failedAt: number
  /** Its last attempt failed; its worker was lost in its last attempt; or it has waited for longer than it may. */
  readonly why: 'failed' | 'lost' | 'waited_too_long'
  /** The message of the error of its last attempt: at most 1,000 characters; empty if there was none. */
  readonly error: string
}

/** Options of `JobError`. */
export interface JobErrorOptions<Unit extends string = string> extends ErrorOptions {
  /** False: no other attempt. A time: the next attempt is after it. @default after the queue's `backoff` */
  readonly retry?: false | Duration
  /**
   * The units that this attempt has used, which are charged. The next attempt is charged on its own.
   *
   * @default the reservation is kept for the next attempt: a job is charged once
   */
  readonly used?: Cost<Unit>
}

/**
 * The error to throw in a handler to say how to go on.
 *
 * @example
 * throw new JobError('the document is not readable', { retry: false })
 * @example
 * throw new JobError('the answer is cut off', { retry: '30s', used: { token: usage.total_tokens } })
 */
export class JobError<Unit extends string = string> extends Error {
  override readonly name = 'JobError'
  readonly retry: false | Duration | undefined
  readonly used: Cost<Unit> | undefined

  constructor(message: string, { retry, used, ...options }: JobErrorOptions<Unit> = {}) {
    super(message, options)
    if (retry) durationMs('JobError.retry', retry)
    this.retry = retry
    this.used = used
  }
}

/** The largest job: its data, subject and cost as JSON, in UTF-8 bytes. */
const MAX_JOB_BYTES = 65_536

/** A job as the store keeps it. */
interface Stored {
  readonly data: unknown
  readonly subject: Subject
  readonly cost: Cost | undefined
  readonly at: number
}

const encoder = new TextEncoder()

/** Returns a job as text. @throws InputError `invalid_job` when it is no JSON, or too large. */
export function encodeJob(stored: Stored): string {
  let text: string | undefined
  try {
    text = JSON.stringify(stored.data) === undefined ? undefined : JSON.stringify(stored)
  } catch {
    // It has a cycle or a BigInt.
  }
  if (text === undefined) throw new InputError('invalid_job', 'data', 'must be a value of JSON')
  const bytes = encoder.encode(text).length
  if (bytes <= MAX_JOB_BYTES) return text
  const rule = `must be at most ${MAX_JOB_BYTES} bytes of JSON with the subject and the cost (given: ${bytes}); store it elsewhere, and add where it is`
  throw new InputError('invalid_job', 'data', rule)
}

/** @throws InputError `invalid_job` when `parse` has returned a promise, which no handler expects. */
export function assertParsed<Data>(parsed: Data): Data {
  if (typeof (parsed as { then?: unknown } | null | undefined)?.then !== 'function') return parsed
  throw new InputError('invalid_job', 'parse', 'must return the data, not a promise')
}

export const decodeJob = (payload: string): Stored => JSON.parse(payload) as Stored
