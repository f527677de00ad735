import type { Limiter } from '@sluice/core'
import { balance, type Balance } from '@sluice/core/credits'
import { expect } from 'vitest'
import { ACME } from './limiters.ts'

/** The balance of the usual tenant, for which the law of a balance holds. */
export async function lawfulBalance(
  limiter: Limiter<string, never, never> | Limiter,
  options: { readonly policy?: string } = {},
): Promise<Balance> {
  const read = await balance(limiter as Limiter, ACME, options)
  const { totals, held, abandoned, debt, lots } = read
  const { granted, adjusted, revoked, expired, settled } = totals
  expect(read.balance).toBe(granted + adjusted - revoked - expired - settled - held - abandoned)
  expect(read.balance).toBe(lots.reduce((sum, { left }) => sum + left, 0) - debt)
  return read
}
