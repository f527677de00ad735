import type { SettlementTwins } from '../algorithms/algorithm.ts'
import type { Limit } from '../policies/limit.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import type { MakeStore, TestFramework } from './suite.ts'
import { replaysAlike } from './histories.ts'
import { settlementOf } from '../reservations/settlements.ts'
import { policyCases, settlingCases } from './policy-cases.ts'
import { register } from './suite.ts'

/** The options that a policy under test is made with. */
export interface PolicyToTest {
  readonly name: string
  /** The most units at once, as well. A function of the route where limits change. */
  readonly limit: Limit
  readonly per: readonly ['tenant']
}

/** Options of `algorithmConformance`. */
export interface AlgorithmConformance extends TestFramework {
  /** Makes a policy of one rule with these options, and a window of your choice. It counts requests. */
  readonly makePolicy: (options: PolicyToTest) => Policy
  /** The stores that must decide alike, by name: `memory()`, and one in Redis for the Lua twin. */
  readonly makeStores: Readonly<Record<string, MakeStore>>
  /** Random histories that are replayed on all stores. @default 20 */
  readonly histories?: number
}

/**
 * Registers the tests that every algorithm must pass: on each store by itself, and on all of them over
 * the same random histories, which shows that its twins agree.
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
  const createPolicy = (limit: Limit): Policy =>
    makePolicy({ name: 'tested', limit, per: ['tenant'] })
  const [rule, another] = createPolicy(10)()
  if (rule === undefined || another) throw new Error('makePolicy must make a policy of one rule')
  const settlement = settlementIn(rule)
  for (const [name, make] of Object.entries(makeStores)) {
    describe(name, () => {
      register({ it }, policyCases(createPolicy, rule.windowMs), make)
      if (settlement)
        register({ it }, settlingCases(createPolicy, settlement.released === true), make)
    })
  }
  describe('all stores', () => {
    for (const [claim, limit] of [
      ['decide alike over random histories', 7],
      ['decide alike where the limit changes', byRoute],
    ] as const) {
      it(claim, () =>
        replaysAlike(createPolicy(limit), makeStores, histories, settlement !== undefined),
      )
    }
  })
}

const byRoute: Limit = ({ route }) => (route === 'large' ? 12 : 5)

function settlementIn(rule: PolicyRule): SettlementTwins | undefined {
  try {
    return settlementOf(rule)
  } catch {
    return undefined
  }
}
