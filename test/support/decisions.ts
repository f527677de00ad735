import type { CheckOptions, Decision, Limiter, Subject } from '@sluice/core'
import { expect } from 'vitest'
import { ACME } from './limiters.ts'

/** Checks `times` times, one after another, and expects each to be allowed. */
export async function spend(
  limiter: Limiter,
  times: number,
  subject: Subject = ACME,
  options: CheckOptions = {},
): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    expect(await limiter.check(subject, options)).toMatchObject({ allowed: true })
  }
}

/** Checks until the first denial, `most` times at most, and counts the checks that were allowed. */
export async function countAllowed(
  limiter: Limiter,
  subject: Subject = ACME,
  most = 20,
): Promise<number> {
  for (let count = 0; count < most; count += 1) {
    if (!(await limiter.check(subject)).allowed) return count
  }
  return most
}

/** The units that remain in each policy, by name. */
export const remaining = ({ policies }: Decision): Record<string, number> =>
  Object.fromEntries(policies.map(({ name, remaining: left }) => [name, left]))

/** The limit that applied in each policy, by name. */
export const limitsIn = ({ policies }: Decision): Record<string, number> =>
  Object.fromEntries(policies.map(({ name, limit }) => [name, limit]))
