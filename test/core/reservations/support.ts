import {
  concurrency,
  dailyCap,
  leakyBucket,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type AllowedDecision,
  type Limiter,
  type LimiterOptions,
  type ManualClock,
  type Policy,
  type Store,
  type Subject,
} from '@sluice/core'
import { reserve, type Reservation, type ReserveOptions } from '@sluice/core/reservations'
import { expect } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

const common = { limit: 100, per: ['tenant'], unit: 'token' } as const
const windows = {
  minute: { limit: 100, window: '1m' },
  hour: { limit: 500, window: '1h' },
} as const
const { limit: _, ...several } = common
/** A policy of tokens for each algorithm, and the calls in flight. */
export const POLICIES: Policy[] = [
  dailyCap({ name: 'daily', ...common }),
  slidingWindow({ name: 'window', window: '1m', ...common }),
  slidingWindows({ name: 'log', windows, ...several }),
  slidingWindowCounter({ name: 'counter', window: '1m', ...common }),
  tokenBucket({ name: 'bucket', window: '1m', ...common }),
  leakyBucket({ name: 'queue', window: '1m', burst: 100, ...common }),
  concurrency({ name: 'calls', limit: 3, per: ['tenant'] }),
]
export const COST = { token: 30 }

/** Reserves, and throws unless it is allowed. */
export async function mustReserve(
  limiter: Limiter,
  subject: Subject,
  options: ReserveOptions = {},
): Promise<AllowedDecision & Reservation> {
  const decision = await reserve(limiter, subject, options)
  if (decision.allowed) return decision
  throw new Error(`A reservation was denied: ${decision.reason}`)
}

/** A limiter of tokens over a store, and ways to spend them and to see how many are left. */
interface TokenBudget {
  readonly limiter: Limiter
  readonly clock: ManualClock
  /** Reserves so many tokens, to be settled within 30 days. */
  readonly take: (token: number) => Promise<AllowedDecision & Reservation>
  /** The tokens that remain in the policy that has the fewest. */
  readonly left: () => Promise<number>
}

/** Sets up a budget of tokens for one tenant over a store. */
export function setUpTokens(store: Store, policies: LimiterOptions['policies']): TokenBudget {
  const { limiter, clock } = setUp(policies, { store })
  return {
    limiter,
    clock,
    take: (token) => mustReserve(limiter, ACME, { cost: { token }, settleWithin: '30d' }),
    left: async () => {
      const { degraded, policies: states } = await limiter.peek(ACME, { cost: { token: 0 } })
      expect(degraded).toBeUndefined()
      return Math.min(...states.map(({ remaining }) => remaining))
    },
  }
}
