import { dailyCap, type Limiter, type Policy } from '@sluice/core'
import { fitRange, reserve, type FitRangeOptions } from '@sluice/core/reservations'
import { ACME } from '../../../support/limiters.ts'

export const TOKENS = { per: ['tenant'], unit: 'token' } as const
/** The rate of a policy that counts tokens: one for each. */
export const PER_TOKEN = { token: 1_000_000 }
export const tokensPerDay = (limit: number): Policy => dailyCap({ name: 'day', limit, ...TOKENS })

/** Reserves up to 100 output tokens, at least 10, beside 5 of input. */
export const take = (limiter: Limiter, options: Partial<FitRangeOptions> = {}, input = 5) =>
  reserve(limiter, ACME, {
    cost: { token: input },
    fit: fitRange({ floor: 10, most: 100, rates: PER_TOKEN, ...options }),
  })
