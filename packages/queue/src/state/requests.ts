/* The requests to the state of a queue, and its answers: plain data, the same for every store. */

/** The time of a request to the state of a queue. */
export interface QueueRequest {
  /** The caller's time in epoch ms. */
  readonly now: number
  /** True to go by `now`, as in tests, even if the store has a clock of its own. */
  readonly clockIsInjected: boolean
}

/** A job to add. */
export interface NewJob {
  readonly id: string
  /** The line that it waits in: jobs of one flow run in their order. Letters, digits and `-_.!~*'()%&=` only. */
  readonly flow: string
  /** The virtual time that it takes: its size by the weight of its flow. A whole number above 0. */
  readonly length: number
  /** 0 (first) to 9. */
  readonly priority: number
  /** The time before it may run, in milliseconds. */
  readonly delayMs: number
  /** The longest wait in milliseconds; 0 without end. */
  readonly waitMs: number
  readonly payload: string
}

export interface AddRequest extends QueueRequest {
  readonly jobs: readonly NewJob[]
  /** The most jobs that the queue may hold. */
  readonly maxJobs: number
}

/** The result of adding a job: added, known by its id, or refused because the queue is full. */
export type Added = 'added' | 'known' | 'full'

/** A worker's report about a job that it has claimed. */
export type Result = { readonly id: string; readonly claim: number } &
  /** It has run. The queue keeps its settlement, a text that only workers read, until it is settled. */
  (
    | { readonly kind: 'done'; readonly settlement: string }
    | { readonly kind: 'settled' }
    /** It is tried again after `delayMs`, or ends among the dead: at once if `isFinal`, or after its last attempt. */
    | {
        readonly kind: 'failed'
        readonly delayMs: number
        readonly isFinal: boolean
        /** The data of its reservation, for the next attempt; empty if there is none. */
        readonly held: string
        readonly error: string
      }
    /** It did not run, and is the first of its flow again. */
    | {
        readonly kind: 'back'
        /** Its flow, the whole queue or nobody waits for `delayMs`. */
        readonly who: 'flow' | 'queue' | 'nobody'
        readonly delayMs: number
        /** False if it may hold a reservation that nobody knows. */
        readonly isClean: boolean
        /** The data of its reservation, for the next attempt; empty to leave what there is. */
        readonly held: string
      }
    /** It runs on. */
    | { readonly kind: 'running' }
  )

export interface TurnRequest extends QueueRequest {
  readonly results: readonly Result[]
  /** The most jobs to claim. */
  readonly most: number
  readonly leaseMs: number
  readonly maxAttempts: number
  readonly keepDeadMs: number
}

/** The outcome of a report: taken, another worker has the job, or there is nothing left to do. */
export type Taken = 'taken' | 'lost' | 'gone'

export interface ClaimedJob {
  readonly id: string
  readonly flow: string
  /** The number of this claim. It fences off those before. */
  readonly claim: number
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** The first claim that may have left a reservation that nobody knows. Those before `claim` are to be cancelled. */
  readonly lostFrom: number
  /** The data of the reservation that the attempt before has left, or an empty text. */
  readonly held: string
  readonly payload: string
}

export interface Turn {
  readonly now: number
  /** The time at which there may be something to do, by the store's clock; Infinity if only a new job makes it so. */
  readonly nextAt: number
  readonly taken: readonly Taken[]
  readonly claimed: readonly ClaimedJob[]
  /** Jobs to settle, which other workers get in turn if this one does not. */
  readonly unsettled: readonly UnsettledJob[]
  /** The ids of jobs that have ended among the dead. */
  readonly died: readonly string[]
}

/** A job that has run, and that the worker that ran it has not settled in time. */
export interface UnsettledJob {
  readonly id: string
  readonly claim: number
  readonly settlement: string
}

export type Why = 'failed' | 'lost' | 'waited_too_long'

/** A job that has failed for good. */
export interface DeadEntry {
  readonly id: string
  readonly diedAt: number
  readonly attempts: number
  readonly why: Why
  readonly error: string
  readonly payload: string
}

export interface LookRequest extends QueueRequest {
  /** The range of the dead to list, oldest first. */
  readonly from: number
  readonly count: number
}

export interface Look {
  readonly waiting: number
  readonly delayed: number
  readonly running: number
  readonly dead: number
  /** The payload of the oldest job that waits, or an empty text. */
  readonly oldest: string
  readonly entries: readonly DeadEntry[]
}

export type EditKind = 'remove' | 'retry'

export interface EditRequest extends QueueRequest {
  readonly kind: EditKind
  readonly ids: readonly string[]
}

/** The longest time that a flow without jobs is remembered, in milliseconds: what it had is then forgotten. */
export const FORGET_FLOW_MS = 60_000

/** The most looks for the oldest job, and the most jobs of each: one sees a part of a line from its oldest on. */
export const OLDEST_LOOKS = 20
export const OLDEST_JOBS = 100

/** The most timers that one request handles. */
export const MAX_DUE = 64

/** Returns the entry of a dead job, whose state ends with why it died and the error. */
export function deadEntry(
  id: string,
  diedAt: number,
  attempts: number,
  rest: string,
  payload: string,
): DeadEntry {
  const at = rest.indexOf(' ')
  return { id, diedAt, attempts, why: rest.slice(0, at) as Why, error: rest.slice(at + 1), payload }
}
