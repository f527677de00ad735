/* The events of jobs, for the listeners of the queue's limiter. */
import type { LimiterEvents } from '@sluice/core'
import { decodeJob } from './job.ts'
import type { ClaimedJob, Result, Turn } from './state/requests.ts'

export class JobEvents {
  readonly #queue: string
  readonly #emit: (event: LimiterEvents['job']) => void

  constructor(queue: string, emit: (event: LimiterEvents['job']) => void) {
    this.#queue = queue
    this.#emit = emit
  }

  /** Reports that an attempt begins. */
  begun({ id, attempt, payload }: ClaimedJob, now: number): void {
    const { subject, at } = decodeJob(payload)
    const waitedMs = attempt > 1 ? undefined : Math.max(0, now - at)
    this.#emit({ queue: this.#queue, id, outcome: 'begun', subject, waitedMs })
  }

  /** Reports the results that the store has taken: each is taken once, whoever reports it. */
  ended(results: readonly Result[], { taken, died }: Turn): void {
    const end = (id: string, outcome: 'done' | 'retried' | 'failed'): void =>
      this.#emit({ queue: this.#queue, id, outcome })
    for (const [at, { id, kind }] of results.entries()) {
      if (taken[at] !== 'taken') continue
      if (kind === 'done') end(id, 'done')
      if (kind === 'failed' && !died.includes(id)) end(id, 'retried')
    }
    for (const id of died) end(id, 'failed')
  }
}
