import {
  createLimiter,
  dailyCap,
  manualClock,
  sessionWindow,
  slidingWindow,
  type PolicyReason,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { decisionRecord } from '../../../packages/dashboard/src/records/record.ts'
import { NOON } from '../support.ts'

const acme = { tenant: 'acme' }
const daily = dailyCap({ name: 'daily', limit: 5, per: ['tenant'] })
const HALF_A_DAY = 43_200_000

const ENDS: Readonly<Record<PolicyReason, number | undefined>> = {
  daily_quota_exceeded: NOON + HALF_A_DAY,
  monthly_quota_exceeded: NOON + HALF_A_DAY,
  quota_exceeded: NOON + HALF_A_DAY,
  rate_limit_exceeded: undefined,
  concurrency_exceeded: undefined,
  credits_exhausted: undefined,
}

describe.each(Object.entries(ENDS))('a policy with the reason %s', (reason, endsAt) => {
  const policy = () => daily().map((rule) => Object.assign({}, rule, { reason }))

  it(`is recorded ${endsAt === undefined ? 'without an end' : 'with the end of its period'}`, async () => {
    const clock = manualClock(NOON)
    const limiter = createLimiter({ store: memory(), clock, policies: [policy] })
    const decision = await limiter.check(acme)
    const { policies } = decisionRecord(decision, acme, {}, policy())
    expect(policies[0]?.endsAt).toBe(endsAt)
  })
})

const HOUR = 3_600_000
const plan = { name: 'plan', limit: 5, per: ['tenant'] } as const

it.each([
  ['a session of 5 hours is fresh at its end', sessionWindow({ ...plan, length: '5h' }), 1],
  ['a sliding window a window later', slidingWindow({ ...plan, window: '5h' }), 5],
])('%s', async (_, policy, hours) => {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store: memory(), clock, policies: [policy] })
  await limiter.check(acme)
  clock.advance(4 * HOUR)
  const { policies } = decisionRecord(await limiter.check(acme), acme, {}, policy())
  expect(policies[0]?.freshMs).toBe(hours * HOUR)
})
