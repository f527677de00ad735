import { boundInput, usd } from '@sluice/ai'
import { createLimiter, dailyCap, manualClock } from '@sluice/core'
import { describe, expect, it, vi } from 'vitest'
import { ownRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'
import { QUESTION, post } from '../doors.ts'
import { answerOf, fitting, maximumOf } from './fitting.ts'

describe('calls that are fitted to their budget', () => {
  const own = ownRedis()
  const BUDGET = usd(2)
  /** The most that a call with the least output costs: its bytes, and a hundred tokens of output. */
  const FLOOR = 400 + 100 * 10

  const COUNT = 10_000

  it(`${COUNT.toLocaleString('en')} random ones never spend more than the cap, and none is refused while it fits`, async () => {
    let state = 20_261_122
    const random = (below: number): number => {
      state = (state * 48_271) % 2_147_483_647
      return state % below
    }
    const clock = manualClock(NOON)
    const limiter = createLimiter({
      store: own.store(),
      clock,
      policies: [dailyCap({ name: 'budget.daily', limit: BUDGET, unit: 'usd', per: ['tenant'] })],
    })
    let spent = 0
    let [open, refused, cut] = [0, 0, 0]
    const settled: number[] = []
    const { handle } = fitting(
      limiter,
      { input: boundInput, onUsage: () => settled.push(1) },
      ({ body }) => {
        const most = maximumOf(body)
        if (most < 1_000) cut += 1
        const completion = random(4) === 0 ? most : 1 + random(most)
        // The granted quantity bounds the output.
        const prompt = 5 + random(100)
        spent += prompt + 10 * completion
        return answerOf(completion, prompt)
      },
    )
    const dailySpend: number[] = []
    for (let batch = 0; batch < COUNT / 16; batch += 1) {
      const answers = await Promise.all(
        Array.from({ length: 16 }, async () => {
          const content = 'why? '.repeat(1 + random(20))
          const answer = await handle(post({ ...QUESTION, messages: [{ role: 'user', content }] }))
          if (answer.ok) open += 1
          await answer.text()
          return answer.status
        }),
      )
      await vi.waitFor(() => expect(settled).toHaveLength(open), { interval: 2, timeout: 30_000 })
      expect(spent).toBeLessThanOrEqual(BUDGET)
      const denied = answers.filter((status) => status === 429).length
      refused += denied
      if (denied < 16) continue
      // All are refused with nothing in flight: then not even the least fits.
      expect(BUDGET - spent).toBeLessThan(FLOOR)
      dailySpend.push(spent)
      spent = 0
      clock.advance(86_400_000)
    }
    expect(refused).toBeGreaterThan(COUNT / 20)
    expect(cut).toBeGreaterThan(COUNT / 125)
    expect(dailySpend.length).toBeGreaterThan(COUNT / 2_000)
  }, 300_000)
})
