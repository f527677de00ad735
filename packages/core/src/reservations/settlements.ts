import { settlementIn, type SettlementTwins } from '../algorithms/algorithm.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { bucketSettlement } from '../algorithms/bucket.ts'
import { counterSettlement } from '../algorithms/counter.ts'
import { fixedWindowSettlement } from '../algorithms/fixed-window.ts'
import { sharedLogSettlement } from '../algorithms/shared-log.ts'
import { slidingLogSettlement } from '../algorithms/sliding-log.ts'
import { slotsSettlement } from '../algorithms/slots.ts'
import { invalidOption } from '../internal/validation.ts'

/** The settlement twins of Sluice's algorithms, by the algorithm's id. */
const SETTLEMENTS = {
  fixed: fixedWindowSettlement,
  sliding: slidingLogSettlement,
  log: sharedLogSettlement,
  counter: counterSettlement,
  'token-bucket': bucketSettlement,
  'leaky-bucket': bucketSettlement,
  slots: slotsSettlement,
}

/**
 * Returns the twins that correct the charges of a policy.
 *
 * @throws ConfigError When its algorithm has none.
 */
export function settlementOf({ name, algorithm }: PolicyRule): SettlementTwins {
  const twins = settlementIn(SETTLEMENTS, algorithm)
  if (twins) return twins
  throw invalidOption(`policies.${name}`, 'must have an algorithm with "settlement" to be reserved')
}
