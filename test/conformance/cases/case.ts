import type { Decision, Limiter, LimiterOptions, ManualClock, Store } from '@sluice/core'
import { expect } from 'vitest'
import { setUp as setUpUnchecked } from '../../support/limiters.ts'

/** A limiter over a store with a clock that stands still, whose decisions must not be degraded. */
export function setUp(
  store: Store,
  policies: LimiterOptions['policies'],
  options: Omit<Partial<LimiterOptions>, 'store' | 'policies' | 'clock'> = {},
): Limiter & { clock: ManualClock } {
  const { limiter, clock } = setUpUnchecked(policies, { store, ...options })
  return {
    ...limiter,
    clock,
    check: (subject, given) => expectSound(limiter.check(subject, given)),
    peek: (subject, given) => expectSound(limiter.peek(subject, given)),
  }
}

async function expectSound(pending: Promise<Decision>): Promise<Decision> {
  const decision = await pending
  expect(decision.degraded).toBeUndefined()
  return decision
}
