import { createLimiter, manualClock, type LimiterOptions, type Store } from '@sluice/core'
import { balance, credits, grant, type Balance, type CreditsOptions } from '@sluice/core/credits'
import { NOON } from '../../support/times.ts'

export const ACME = { tenant: 'acme' }
export const UNIT = 'credit'

/** A policy of credits of a tenant. */
export const policyOf = (options: Partial<CreditsOptions> = {}) =>
  credits({ name: 'credits', per: ['tenant'], unit: UNIT, unsettled: 'keep', ...options })

/** A limiter with credits in a store. */
export function limiterOn(
  store: Store,
  options: Partial<CreditsOptions> = {},
  more: Partial<LimiterOptions> = {},
) {
  const clock = manualClock(NOON)
  const policies = [policyOf(options)]
  return createLimiter({ store, clock, onStoreError: 'deny', policies, ...more } as never)
}

export type CreditLimiter = ReturnType<typeof limiterOn>

/** Grants units that never expire. */
export const give = (limiter: CreditLimiter, amount: number, id: string, subject = ACME) =>
  grant(limiter, subject, { amount, id, at: NOON, kind: 'paid' })

/** Charges units, and returns whether they were there. */
export const spend = async (limiter: CreditLimiter, units: number, subject = ACME) =>
  (await limiter.check(subject, { cost: { [UNIT]: units } })).allowed

/** The difference of both sides of the law of a balance: 0. */
export function errorOf({ totals, held, abandoned, balance: left }: Balance): number {
  const { granted, adjusted, revoked, expired, settled } = totals
  return granted + adjusted - revoked - expired - settled - held - abandoned - left
}

/** The balance of acme, which must be lawful. */
export async function lawful(limiter: CreditLimiter, subject = ACME): Promise<Balance> {
  const found = await balance(limiter, subject)
  if (errorOf(found) !== 0) throw new Error(`The law is broken: ${JSON.stringify(found)}`)
  return found
}
