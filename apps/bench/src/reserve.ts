import type { Cost, Limiter } from '@sluice/core'

/** Reserves `estimate` and settles it at `actual`. */
export async function reserveAndSettle(
  limiter: Limiter,
  tenant: string,
  estimate: Cost,
  actual: Cost,
): Promise<void> {
  const call = await limiter.reserve({ tenant }, { cost: estimate })
  if (!call.allowed) throw new Error('A reservation was denied')
  await call.settle(actual)
}
