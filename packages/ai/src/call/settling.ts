/* The end of a call: what its answer used. */
import { invalidOption } from '@sluice/core/internal'
import { logError } from '../log-error.ts'
import type { Prices } from '../prices/prices.ts'
import type { Usage } from '../usage.ts'
import type { PreparedCall } from './prepare.ts'

/** The units of a call that are known once it is over. */
export const SETTLED_UNITS = ['token', 'input_token', 'output_token', 'usd'] as const

/** The name of such a unit. */
export type SettledUnit = (typeof SETTLED_UNITS)[number]

/** The parts of a door's options that an answer is priced by. */
interface PriceTerms {
  readonly prices?: Prices | undefined
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The service tiers that were reported: once each, because every answer may name the same. */
const reported = new Set<string>()

/** Returns the units that an answer used. Reports a service tier that has no price. */
export function unitsUsed(
  usage: Usage,
  call: PreparedCall,
  { prices, onError = logError }: PriceTerms,
): Record<SettledUnit, number> {
  const { input, output, cost = 0, model, tier } = usage
  if (prices && tier && !reported.has(tier) && !prices.hasTier(tier, model ?? call.model)) {
    reported.add(tier)
    onError(invalidOption('prices', `lack the service tier ${tier}: see withTiers`))
  }
  // Without a price of its own, the requested model's price applies.
  const price = (): number => prices?.priceOf(usage, model, call.model) ?? 0
  const usd = Math.max(cost, prices?.live?.highest(call.pricedBy, price) ?? price())
  return { token: input + output, input_token: input, output_token: output, usd }
}
