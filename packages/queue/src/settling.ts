/* Ends the charges of jobs beside the loop of a worker. */
import { StoreError } from '@sluice/core'
import { settleOrEstimate } from './charge.ts'
import type { QueueParts } from './limited-queue.ts'
import type { Result, UnsettledJob } from './state/requests.ts'

type Parts = Pick<QueueParts, 'limiter' | 'runtime' | 'name'>

export class Settling {
  /** The number of jobs whose charge is being corrected or given back. */
  count = 0
  readonly #parts: Parts
  readonly #onEnd: (result?: Result) => void

  /** @param onEnd Called after each, with what to report to the queue. */
  constructor(parts: Parts, onEnd: (result?: Result) => void) {
    this.#parts = parts
    this.#onEnd = onEnd
  }

  /** Settles a job that has run. If the store fails, the queue gives it to a worker again. */
  async settle({ id, claim, settlement }: UnsettledJob): Promise<void> {
    const { limiter, runtime, name } = this.#parts
    let isSettled = true
    this.count += 1
    try {
      await settleOrEstimate(limiter, settlement, (error) => {
        const message = `A handler of the queue "${name}" has returned what is no cost; its estimate stays charged`
        runtime.events.problem({ code: 'reservation_lost', message, error })
      })
    } catch (error) {
      // If the store has failed, the queue gives the job to a worker again. Nothing else ends by itself.
      isSettled = !(error instanceof StoreError)
      if (isSettled) {
        const message = `A job of the queue "${name}" cannot be settled; its estimate stays charged`
        runtime.events.problem({ code: 'reservation_lost', message, error })
      }
    }
    this.count -= 1
    this.#onEnd(isSettled ? { kind: 'settled', id, claim } : undefined)
  }

  /** Gives back what was reserved for a job that another worker has. */
  async forget(job: { readonly forget: () => Promise<void> }): Promise<void> {
    this.count += 1
    await job.forget()
    this.count -= 1
    this.#onEnd()
  }
}
