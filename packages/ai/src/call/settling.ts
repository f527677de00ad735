/* The end of a call: what its answer used, and the attempts to settle it. */
import { StoreError, type Cost } from '@sluice/core'
import type { Reservation } from '@sluice/core/reservations'
import { findPrice, priceOf, type Prices } from '../prices.ts'
import type { ModelUsage, Usage } from '../usage.ts'
import type { PreparedCall } from './prepare.ts'

/** The units of a call that are known once it is over. */
export const SETTLED_UNITS = ['token', 'input_token', 'output_token', 'usd'] as const

type SettledUnit = (typeof SETTLED_UNITS)[number]

/** The attempts to settle, and the pause before the second in milliseconds; before later ones it is longer. */
const ATTEMPTS = 3
const PAUSE_MS = 200

/** Settles, again if the store fails: the first settlement counts, so that repeating it is harmless. */
export async function settleSurely(reservation: Reservation, actual: Cost): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { storeFailed = false } = await reservation.settle(actual)
      if (!storeFailed || attempt === ATTEMPTS) return
    } catch (error) {
      if (!(error instanceof StoreError) || attempt === ATTEMPTS) throw error
    }
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE_MS * attempt)
    })
  }
}

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
  return priceOf({ ...usage, otherModels }, pricedModel(usage, call, prices), prices)
}

/** The model to price an answer by: the one that it names, else the one that was asked for. */
function pricedModel({ model }: Pick<Usage, 'model'>, call: PreparedCall, prices: Prices): string {
  try {
    findPrice(model, { ...prices, unknownModel: 'deny' })
    return model as string
  } catch {
    return call.model
  }
}
