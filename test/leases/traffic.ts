import { definePlans, fixedWindow, slidingWindow } from '@sluice/core'
import { lease } from '@sluice/core/leases'

/** The windows of the swarm, in milliseconds, and the time that a lease lasts. */
export const WINDOW = 2_000
export const GRID = 3_000
export const LEASE = 200

/** Every tenant changes its plan this often, by the wall clock. */
const PLAN_MS = 2_500

/** The limits of the swarm at full size. A small swarm has a part of each. */
export const limitsOf = (size: number) => ({
  everyone: 40_000 * size,
  small: { rpm: 4_000 * size, quota: 6_000 * size },
  large: { rpm: 8_000 * size, quota: 10_000 * size },
  plain: 400 * size,
})

export type PlanName = 'small' | 'large'

/** The plan of every tenant at this time. */
export const planAt = (now: number): PlanName =>
  Math.floor(now / PLAN_MS) % 2 === 0 ? 'small' : 'large'

/** The plans and policies of every process: three leased ones, and one that only some requests count in. */
export function limitsForSwarm(size: number) {
  const { everyone, small, large, plain } = limitsOf(size)
  const terms = { duration: LEASE, most: 50 }
  const perTenant = ['tenant'] as const
  return {
    plans: definePlans({ small, large }),
    policies: [
      lease(slidingWindow({ name: 'everyone', limit: everyone, window: WINDOW, per: 'global' }), {
        duration: LEASE,
        most: 500,
      }),
      lease(
        slidingWindow({
          name: 'rpm',
          limit: ({ plan }) => plan['rpm'],
          window: WINDOW,
          per: perTenant,
        }),
        terms,
      ),
      lease(
        fixedWindow({
          name: 'quota',
          limit: ({ plan }) => plan['quota'],
          window: GRID,
          per: perTenant,
        }),
        terms,
      ),
      slidingWindow({
        name: 'plain',
        limit: plain,
        window: WINDOW,
        per: perTenant,
        routes: ['plain'],
      }),
    ],
  }
}
