import type {
  AllowedDecision,
  Limiter,
  LimiterOptions,
  ManualClock,
  Store,
  Subject,
} from '@sluice/core'
import { reserve, type Reservation, type ReserveOptions } from '@sluice/core/reservations'
import { expect } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

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
export interface TokenBudget {
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
