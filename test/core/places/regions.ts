import {
  createLimiter,
  dailyCap,
  fixedWindow,
  slidingWindow,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { regional } from '@sluice/core/regional'

export const per = ['tenant'] as const
export const LIMIT = 500
export const DAILY = lease(fixedWindow({ name: 'daily', limit: LIMIT, window: '1d', per }))
export const BUDGET = lease(dailyCap({ name: 'budget', limit: 10_000_000, unit: 'usd', per }))
export const BURST = slidingWindow({ name: 'burst', limit: 5, window: '1h', per })

export type Policies = LimiterOptions['policies']

/** The number of decisions that allow. */
export const allowedOf = (decisions: readonly Decision[]): number =>
  decisions.filter(({ allowed }) => allowed).length

/** A limiter in one region. */
export const limiterIn = (
  home: Store,
  here: Store,
  policies: Policies,
  perRegion: string[] = [],
): Limiter =>
  createLimiter({
    store: regional({ home, here, perRegion }),
    policies,
    // A request without a held unit is denied all the same.
    onStoreError: 'allow',
  })
