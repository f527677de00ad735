import type { SettlementTwins } from '../algorithms/algorithm.ts'
import type { Limit } from '../policies/limit.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import { replaysAlike } from './histories.ts'
import { settlementOf } from '../reservations/settlements.ts'
import { keyCases } from './key-cases.ts'
import { canBeLeased } from '../leases/lease.ts'
import { growingCases, policyCases, settlingCases } from './policy-cases.ts'
import { traitCases } from './trait-cases.ts'
import { register, type MakeStore, type TestFramework } from './suite.ts'
import { attempt } from '../internal/attempt.ts'

/** The options of a policy under test. */
export interface PolicyToTest {
  readonly name: string
  /** The limit, and the most units at once. A function of the route in tests with changing limits. */
  readonly limit: Limit
  readonly per: readonly ['tenant']
}

/** Options of `algorithmConformance`. */
export interface AlgorithmConformance extends TestFramework {
  /** Makes a policy of one rule that counts requests, with these options and a window of your choice. */
  readonly makePolicy: (options: PolicyToTest) => Policy
  /** The stores that must decide alike, by name: `memory()`, and one in Redis for the Lua twin. */
  readonly makeStores: Readonly<Record<string, MakeStore>>
  /** The number of random histories to replay on all stores. @default 20 */
  readonly histories?: number
}

/**
 * Registers the tests that every algorithm must pass. Each store is tested by itself. Then all of them replay
 * the same random histories, which shows that the twins agree.
 *
 * @example
 * algorithmConformance({
 *   describe,
 *   it,
 *   makePolicy: (options) => gcra({ ...options, window: '1m' }),
 *   makeStores: { memory: () => memory(), redis: () => upstash({ url, token }) },
 * })
 */
export function algorithmConformance(options: AlgorithmConformance): void {
  const { describe, it, makePolicy, makeStores, histories = 20 } = options
  const policyOf = (limit: Limit): Policy => makePolicy({ name: 'tested', limit, per: ['tenant'] })
  const [rule, secondRule] = policyOf(10)()
  if (rule === undefined || secondRule) throw new Error('makePolicy must make a policy of one rule')
  const settlement = optionalSettlement(rule)
  for (const [name, make] of Object.entries(makeStores)) {
    describe(name, () => {
      register({ it }, policyCases(policyOf, rule.windowMs), make)
      register({ it }, keyCases(policyOf), make)
      register({ it }, traitCases(policyOf, rule), make)
      if (settlement) {
        register({ it }, settlingCases(policyOf, rule.algorithm.traits?.held === true), make)
        register({ it }, growingCases(policyOf, canBeLeased(rule)), make)
      }
    })
  }
  describe('all stores', () => {
    for (const [claim, limit] of [
      ['decide alike over random histories', 7],
      ['decide alike where the limit changes', byRoute],
    ] as const) {
      it(claim, () =>
        replaysAlike(policyOf(limit), makeStores, histories, settlement !== undefined),
      )
    }
  })
}

const byRoute: Limit = ({ route }) => (route === 'large' ? 12 : 5)

const optionalSettlement = (rule: PolicyRule): SettlementTwins | undefined =>
  attempt(() => settlementOf(rule), undefined)
