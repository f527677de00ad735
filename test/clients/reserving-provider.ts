import { createLimiter, type Cost, type Policy } from '@sluice/core'
import { tooManyRequests, type DenialFormat } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { reserve, type Reservation } from '@sluice/core/reservations'
import { COMPLETION, MESSAGE, serveProvider, type Provider } from './provider.ts'

export interface ReservingOptions {
  readonly policies: readonly Policy[]
  readonly format: DenialFormat
  /** The cost that each call reserves. An earlier call has reserved it, too, and left no room. */
  readonly cost: Cost
  /** True if the earlier call has ended, and used what it has reserved. */
  readonly isSpent?: boolean
  /** Hears of the call before when another one is denied, to end it, say. */
  readonly onDenied?: (before: Reservation) => Promise<unknown>
  readonly clock?: () => number
}

/**
 * Starts a provider like `startProvider`, for an endpoint that reserves: an earlier call has taken
 * everything.
 */
export async function startReserving(options: ReservingOptions): Promise<Provider> {
  const { policies, format, cost, isSpent, onDenied, clock } = options
  const limiter = createLimiter({ store: memory(), policies, ...(clock && { clock }) })
  const subject = { tenant: 'acme' }
  let before: Reservation | undefined

  return serveProvider(async (path) => {
    if (before === undefined) {
      const first = await reserve(limiter, subject, { cost })
      if (!first.allowed) throw new Error('There was no room to begin with')
      if (isSpent) await first.settle({})
      before = first
    }
    const decision = await reserve(limiter, subject, { cost })
    if (!decision.allowed) {
      await onDenied?.(before)
      return tooManyRequests(decision, { format })
    }
    await decision.settle(cost)
    return Response.json(path.endsWith('/messages') ? MESSAGE : COMPLETION)
  })
}
