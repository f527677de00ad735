import { calendar } from '@sluice/core/calendars'
import { balance, credits, grant } from '@sluice/core/credits'
import { defineManifest } from '@sluice/core/manifest'
import { expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

it('a manifest in code has a policy of credits beside plain ones, for each route that it names', async () => {
  const { policies, routes } = defineManifest({
    policies: [
      credits({
        name: 'credits',
        per: ['tenant'],
        unsettled: 'keep',
        included: { amount: 5_000, resets: calendar({ every: 'month' }) },
      }),
      { algorithm: 'slidingWindow', name: 'rpm', limit: 3, window: '1m', per: ['tenant'] },
    ],
    routes: ['/api/chat'],
  })
  expect(routes).toHaveLength(1)
  const { limiter, clock } = setUp(policies, { onStoreError: 'deny' })
  await grant(limiter, ACME, { amount: 1_000, id: 'g', at: clock(), kind: 'paid' })
  const call = { ...ACME, route: '/api/chat' }
  const decisions = []
  for (let n = 0; n < 3; n += 1) decisions.push(await limiter.check(call, { cost: { usd: 2_500 } }))
  expect(decisions.map(({ reason }) => reason)).toEqual([undefined, undefined, 'credits_exhausted'])
  expect((await balance(limiter, ACME)).available).toBe(1_000)
})
