import {
  dailyCap,
  fixedWindow,
  monthlyCap,
  slidingWindow,
  type Per,
  type Policy,
} from '@sluice/core'
import * as fc from 'fast-check'

/** A policy as plain data, which the oracle reads in its own way. */
export interface Rule {
  readonly kind: 'sliding' | 'fixed' | 'daily' | 'monthly'
  readonly limit: number
  readonly windowMs: number
  readonly per: Per
  readonly unit: string
}

const KIND_NAMES = ['sliding', 'sliding', 'sliding', 'fixed', 'daily', 'monthly'] as const

const PARTITIONS: readonly Per[] = [['tenant'], ['tenant', 'route'], ['route'], 'global']

const wholeWindow = (leastMs: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.constantFrom(10_000, 60_000, 3_600_000, 86_400_000),
    fc.integer({ min: leastMs, max: leastMs * 20 }),
    fc.integer({ min: leastMs, max: 40 * 86_400_000 }),
  )

/** One to four rules with windows of at least `leastMs`. */
export const rules = (leastMs: number): fc.Arbitrary<readonly Rule[]> =>
  fc.array(
    fc.record({
      kind: fc.constantFrom(...KIND_NAMES),
      limit: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 4 })),
      windowMs: wholeWindow(leastMs),
      per: fc.constantFrom(...PARTITIONS),
      unit: fc.constantFrom('request', 'request', 'token'),
    }),
    { minLength: 1, maxLength: 4 },
  )

const KINDS = {
  sliding: slidingWindow,
  fixed: fixedWindow,
  daily: dailyCap,
  monthly: monthlyCap,
}

/** The rules as policies, named p0, p1, …. */
export function policiesOf(list: readonly Rule[]): Policy[] {
  return list.map(({ kind, limit, windowMs: window, per, unit }, index) => {
    const common = { name: `p${index}`, limit, per, unit }
    return kind === 'sliding' || kind === 'fixed'
      ? KINDS[kind]({ ...common, window })
      : KINDS[kind](common)
  })
}
