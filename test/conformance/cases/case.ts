import type { CheckOptions, Decision, LimiterOptions, Store, Subject } from '@sluice/core'
import { createLimiter, manualClock, type Limiter, type ManualClock } from '@sluice/core'
import { expect } from 'vitest'

/** Thursday, in the middle of a day and of a minute. */
export const NOON = Date.UTC(2026, 0, 15, 12, 0, 30)

export const ACME: Subject = { tenant: 'acme' }

/** A limiter with a clock that stands still, whose decisions may not be degraded. */
export function setUp(
  store: Store,
  policies: LimiterOptions['policies'],
  options: Omit<Partial<LimiterOptions>, 'store' | 'policies' | 'clock'> = {},
): Limiter & { clock: ManualClock } {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, policies, clock, ...options })
  return {
    ...limiter,
    clock,
    check: (subject, given) => sound(limiter.check(subject, given)),
    peek: (subject, given) => sound(limiter.peek(subject, given)),
  }
}

async function sound(decision: Promise<Decision>): Promise<Decision> {
  const made = await decision
  expect(made.degraded).toBeUndefined()
  return made
}

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

/** What remains in each policy, by name. */
export const remaining = ({ policies }: Decision): Record<string, number> =>
  Object.fromEntries(policies.map(({ name, remaining: left }) => [name, left]))
