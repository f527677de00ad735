import { createLimiter, manualClock, type LimiterOptions, type Store } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { NOON } from '../../../support/times.ts'

/** A call of a tenant or a user, who is also the route by which policies weigh. */
export interface Step {
  /** The time before it, in milliseconds. */
  readonly ms: number
  /** The caller, as a number. */
  readonly tenant: number
  readonly call: 'check' | 'peek' | 'reserve'
  readonly cost: number
  /** The units that the oldest open reservation has used, once more than this many are open. */
  readonly used: number
  readonly open: number
}

/** The answers of a limiter over a store to a history. */
export async function answersOf(
  store: Store,
  policies: LimiterOptions['policies'],
  steps: readonly Step[],
  /** True for users of one tenant. @default tenants */
  isShared = false,
): Promise<unknown[]> {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, policies, clock, onStoreError: 'deny' })
  const answers: unknown[] = []
  const open: { settle(used: { token: number }): Promise<unknown> }[] = []
  for (const { ms, tenant, call, cost, used, open: most } of steps) {
    clock.advance(ms)
    const who = { tenant: `t${tenant}`, user: `u${tenant}`, route: `r${tenant}` }
    const subject = isShared ? { ...who, tenant: 'acme' } : who
    const options = { cost: { token: cost } }
    // oxlint-disable-next-line no-await-in-loop -- a history
    const decision = await (call === 'reserve'
      ? reserve(limiter, subject, options)
      : limiter[call](subject, options))
    answers.push({ policies: decision.policies, retryAfterMs: decision.retryAfterMs })
    if (decision.allowed && 'settle' in decision) open.push(decision as (typeof open)[number])
    // oxlint-disable-next-line no-await-in-loop -- a history
    if (open.length > most) answers.push(await open.shift()?.settle({ token: used }))
  }
  return answers
}
