/* Model calls on a balance. */
import { priceOf, usd } from '@sluice/ai'
import { createLimiter, manualClock, type Limiter, type ManualClock } from '@sluice/core'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { ACME } from '../support/limiters.ts'
import { NOON } from '../support/times.ts'
import { PRICES } from './fallback/ladder.ts'

type Unsettled = 'keep' | 'release'

/** A limiter of credits alone, with so many micro-dollars granted. */
export async function creditsOf(
  amount: number,
  unsettled: Unsettled = 'keep',
): Promise<{ limiter: Limiter; clock: ManualClock }> {
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store: memory(),
    clock,
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled })],
  })
  if (amount > 0) await grant(limiter, ACME, { amount, id: 'g', at: NOON, kind: 'paid' })
  return { limiter, clock }
}

/** The usual grant: less than a call of `large` may cost twice. */
export const GRANTED = usd(0.02)
/** The price of ten tokens of input and some of output. */
export const costOf = (output: number, model = 'large'): number =>
  priceOf({ input: 10, output }, model, PRICES)
