/* The end of a call: what its answer used. */
import { listedName } from '../model-name.ts'
import type { Prices } from '../prices.ts'
import type { ModelUsage, Usage } from '../usage.ts'
import type { PreparedCall } from './prepare.ts'

/** The units of a call that are known once it is over. */
export const SETTLED_UNITS = ['token', 'input_token', 'output_token', 'usd'] as const

/** The name of such a unit. */
export type SettledUnit = (typeof SETTLED_UNITS)[number]

/** Returns the units that an answer used. */
export function unitsUsed(
  usage: Usage,
  call: PreparedCall,
  prices: Prices | undefined,
): Record<SettledUnit, number> {
  const { input, output, cost = 0 } = usage
  const usd = prices ? Math.max(cost, priceOfAnswer(usage, call, prices)) : cost
  return { token: input + output, input_token: input, output_token: output, usd }
}

/** The price of an answer: each model at its own price, and one without a price at that of the call's model. */
function priceOfAnswer(usage: Usage, call: PreparedCall, prices: Prices): number {
  const priced = (one: ModelUsage): ModelUsage => ({
    ...one,
    model: pricedModel(one, call, prices),
  })
  const otherModels = (usage.otherModels ?? []).map(priced)
  return prices.priceOf({ ...usage, otherModels }, pricedModel(usage, call, prices))
}

/** The model to price an answer by: the one that it names, else the one that was asked for. */
function pricedModel(
  { model }: Pick<Usage, 'model'>,
  call: PreparedCall,
  { models }: Prices,
): string {
  return model !== undefined && listedName(model, models) ? model : call.model
}
