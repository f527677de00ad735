import type { Limit } from '../policies/limit.ts'
import type { Policy } from '../policies/policy.ts'
import { fixedWindow } from '../policies/fixed-window.ts'
import { slidingWindow } from '../policies/sliding-window.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import { decisionCases } from './decision-cases.ts'
import { policyCases, settlingCases } from './policy-cases.ts'
import { recordCases } from './record-cases.ts'
import { reservationCases } from './reservation-cases.ts'
import { register, type MakeStore, type TestFramework } from './suite.ts'

/** Options of `storeConformance`. */
export interface StoreConformance extends TestFramework {
  /** Makes the store. It need not be empty, because the suite uses fresh ids. */
  readonly makeStore: MakeStore
}

/**
 * Registers the tests that every store must pass. Needs no Lua, and only two functions of a test framework.
 *
 * @example
 * import { describe, it } from 'node:test'
 * storeConformance({ describe, it, makeStore: () => fileStore(newPath()) })
 */
export function storeConformance({ describe, it, makeStore }: StoreConformance): void {
  for (const [name, factory] of Object.entries(FACTORIES)) {
    const policyOf = (limit: Limit): Policy =>
      factory({ name: 'tested', limit, window: '1m', per: ['tenant'] })
    describe(name, () => {
      register({ it }, policyCases(policyOf, 60_000), makeStore)
      register({ it }, settlingCases(policyOf, false), makeStore)
    })
  }
  describe('decisions', () => register({ it }, decisionCases, makeStore))
  describe('reservations', () => register({ it }, reservationCases, makeStore))
  describe('records and resets', () => register({ it }, recordCases, makeStore))
}

const FACTORIES = {
  'a fixed window': fixedWindow,
  'a sliding window': slidingWindow,
  'a token bucket': tokenBucket,
}
