import type { SettlementTwins } from '../algorithms/algorithm.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { bucketSettlement } from '../algorithms/bucket.ts'
import { counterSettlement } from '../algorithms/counter.ts'
import { fixedWindowSettlement } from '../algorithms/fixed-window.ts'
import { sharedLogSettlement } from '../algorithms/shared-log.ts'
import { slidingLogSettlement } from '../algorithms/sliding-log.ts'
import { slotsSettlement } from '../algorithms/slots.ts'
import { ConfigError } from '../errors.ts'

/** The settlement of each of Sluice's own algorithms, by the algorithm's id. */
const OWN: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['fixed', fixedWindowSettlement],
  ['sliding', slidingLogSettlement],
  ['log', sharedLogSettlement],
  ['counter', counterSettlement],
  ['token-bucket', bucketSettlement],
  ['leaky-bucket', bucketSettlement],
  ['slots', slotsSettlement],
])

/**
 * Returns what corrects the charges of a policy.
 *
 * @throws ConfigError When its algorithm does not say.
 */
export function settlementOf({ name, algorithm }: PolicyRule): SettlementTwins {
  const twins = algorithm.settlement ?? OWN.get(algorithm.id)
  // Its own states are all that it gets: keys name the algorithm.
  if (twins !== undefined) return twins as SettlementTwins
  const message = `has an algorithm without "settlement", so reservations are not possible`
  throw new ConfigError('invalid_option', `policies.${name}`, message)
}
