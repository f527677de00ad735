import type { MakeStore, TestFramework } from './suite.ts'
import { decisionCases } from './decision-cases.ts'
import { recordCases } from './record-cases.ts'
import { reservationCases } from './reservation-cases.ts'
import { register } from './suite.ts'

/** Options of `storeConformance`. */
export interface StoreConformance extends TestFramework {
  /** Makes the store. It need not be empty: the suite uses ids of its own. */
  readonly makeStore: MakeStore
}

/**
 * Registers the tests that every store must pass. Needs no Lua, and no test framework but the functions
 * given.
 *
 * @example
 * import { describe, it } from 'node:test'
 * storeConformance({ describe, it, makeStore: () => mapStore() })
 */
export function storeConformance({ describe, it, makeStore }: StoreConformance): void {
  describe('decisions', () => register({ it }, decisionCases, makeStore))
  describe('reservations', () => register({ it }, reservationCases, makeStore))
  describe('records and resets', () => register({ it }, recordCases, makeStore))
}
