import { createLimiter, dailyCap, slidingWindow, type Store } from '@sluice/core'
import { expect } from 'vitest'

/** Decides, counts and resets through a store of a user's client. */
export async function decidesThroughClient(store: Store): Promise<void> {
  const limiter = createLimiter({
    store,
    policies: [
      dailyCap({ name: 'daily', limit: 9, per: ['tenant'] }),
      slidingWindow({ name: 'rpm', limit: 2, window: '1h', per: ['tenant'] }),
    ],
  })
  const subject = { tenant: 'täńänt 🙂' }
  const decisions = [await limiter.check(subject), await limiter.check(subject)]
  decisions.push(await limiter.check(subject))
  expect(decisions.map(({ degraded }) => degraded)).toEqual([undefined, undefined, undefined])
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false])
  expect(decisions[2]?.policies.map(({ remaining }) => remaining)).toEqual([7, 0])
  await limiter.reset(subject)
  expect(await limiter.check(subject)).toMatchObject({ allowed: true, degraded: undefined })
}
