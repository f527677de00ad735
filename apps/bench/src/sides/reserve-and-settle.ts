import type { Cost, Limiter } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'

/** Reserves `estimate` and settles it at `actual`. */
export async function reserveAndSettle(
  limiter: Limiter,
  tenant: string,
  estimate: Cost,
  actual: Cost,
): Promise<void> {
  const call = await reserve(limiter, { tenant }, { cost: estimate })
  if (!call.allowed) throw new Error('A reservation was denied')
  await call.settle(actual)
}
