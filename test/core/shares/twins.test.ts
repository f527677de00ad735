import { createLimiter, manualClock, slidingWindow, type Limiter, type Policy } from '@sluice/core'
import { fairShare } from '@sluice/core/fair-share'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'

const shared = sharedRedis()

interface Step {
  /** The time before it, in milliseconds. */
  readonly ms: number
  readonly tenant: number
  readonly call: 'check' | 'peek' | 'reserve'
  readonly cost: number
  /** The units that the oldest open reservation has used, once more than this many are open. */
  readonly used: number
  readonly open: number
}

const step: fc.Arbitrary<Step> = fc.record({
  ms: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(9_000), fc.nat(200_000)),
  tenant: fc.nat(5),
  call: fc.constantFrom('check', 'reserve', 'peek'),
  cost: fc.oneof(fc.nat(3), fc.nat(40)),
  used: fc.nat(60),
  open: fc.nat(6),
})

/** What one limiter answers. */
async function run(limiter: Limiter, steps: readonly Step[], clock: { advance(ms: number): void }) {
  const answers: unknown[] = []
  const open: { settle(used: { token: number }): Promise<unknown> }[] = []
  for (const { ms, tenant, call, cost, used, open: most } of steps) {
    clock.advance(ms)
    const subject = { tenant: `t${tenant}`, route: `r${tenant}` }
    if (call === 'reserve') {
      // oxlint-disable-next-line no-await-in-loop -- a history
      const reservation = await reserve(limiter, subject, { cost: { token: cost } })
      const { policies, retryAfterMs } = reservation
      answers.push({ policies, retryAfterMs })
      if (reservation.allowed) open.push(reservation)
    } else {
      // oxlint-disable-next-line no-await-in-loop -- a history
      const { policies, retryAfterMs } = await limiter[call](subject, { cost: { token: cost } })
      answers.push({ policies, retryAfterMs })
    }
    // oxlint-disable-next-line no-await-in-loop -- a history
    if (open.length > most) answers.push(await open.shift()?.settle({ token: used }))
  }
  return answers
}

/** The answers of a store in memory and of Redis to the same history. */
async function twins(policy: () => Policy, steps: readonly Step[]) {
  const answersOf = (store: ReturnType<typeof memory>) => {
    const clock = manualClock(NOON)
    return run(createLimiter({ store, policies: [policy()], clock }), steps, clock)
  }
  return Promise.all([answersOf(memory()), answersOf(shared.store())])
}

describe('shares in memory and in Redis', () => {
  it('are the same after any history', { timeout: 120_000 }, async () => {
    const histories = fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 120 }),
      fc.integer({ min: 1, max: 120 }),
      fc.constantFrom(0, 3, 40),
      async (steps, limit, guarantee) => {
        const window = { name: 'p', limit, window: '1m', per: 'global', unit: 'token' } as const
        const policy = () =>
          fairShare(slidingWindow(window), {
            between: ['tenant'],
            weight: ({ route }) => (route === 'r1' ? 3 : 1),
            guarantee: ({ route }) => (route === 'r2' ? Math.min(guarantee, limit) : 0),
          })
        const [here, there] = await twins(policy, steps)
        expect(there).toEqual(here)
      },
    )
    await fc.assert(histories, { numRuns: 120 })
  })

  it('are the same with more tenants than they know', { timeout: 120_000 }, async () => {
    const window = { name: 'p', limit: 3_000, window: '1m', per: 'global', unit: 'token' } as const
    const policy = () => fairShare(slidingWindow(window), { between: ['tenant'] })
    // Each of 1,400 tenants in the first slots, the first ones again later, and some settlements of those that were dropped.
    const steps = Array.from({ length: 4_000 }, (_, at): Step => {
      const tenant = at < 1_500 ? at : (at * 7) % 1_450
      const call = at % 5 === 0 ? 'reserve' : 'check'
      return {
        ms: at % 40 === 0 ? 600 : 1,
        tenant,
        call,
        cost: 1 + (at % 3),
        used: at % 5,
        open: 90,
      }
    })
    const [here, there] = await twins(policy, steps)
    expect(there).toEqual(here)
    expect(JSON.stringify(here)).toContain('"fits":false')
  })
})
