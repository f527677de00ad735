import { AsyncLocalStorage } from 'node:async_hooks'
import type { Usage } from '@sluice/ai'
import type { Decision } from '@sluice/core'
import type { Call } from './calls.ts'
import type { Fault } from './faulty-redis.ts'

/** The units that a call uses: LLM tokens, and micro-dollars. */
export interface Amounts {
  readonly token: number
  readonly usd: number
}

/** The books of one call: what the provider, the store's network and the callbacks have seen of it. */
export interface Journey {
  readonly call: Call
  /** True tokens of the prompt, with those that the provider adds. */
  readonly promptTokens: number
  /** The provider's bill. Missing if it was not called. */
  billed?: Amounts
  /** The decision, once the reservation is made. */
  decision?: Decision
  /** The last usage that `onUsage` was told. */
  usage?: Usage
  /** The requests to the store, in order: the reservation, then each attempt to settle. */
  readonly requests: Request[]
  readonly errors: unknown[]
  /** Work that goes on past the response. */
  readonly background: Promise<unknown>[]
  readonly client: AbortController
}

interface Request {
  readonly fault: Fault | undefined
  /** Of a reservation whose reply was lost: whether the store holds it. */
  readonly isHeld?: boolean
}

const journeys = new AsyncLocalStorage<Journey>()

/** Runs `work` as a part of the call, so that all that it causes is known to be of the call. */
export const during = <T>(journey: Journey, work: () => Promise<T>): Promise<T> =>
  journeys.run(journey, work)

/** Returns the call that is being made, if any. */
export const currentJourney = (): Journey | undefined => journeys.getStore()
