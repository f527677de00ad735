import { createLimiter } from '@sluice/core'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { flushUsage, recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'

function setUp() {
  const limiter = createLimiter({
    store: memory(),
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
    extensions: [recordUsage({ tenants: 'plain' })],
  })
  const pay = () =>
    grant(limiter, ACME, { amount: 10_000_000, id: 'p', at: new Date(), kind: 'paid' })
  const rows = async () => {
    await flushUsage(limiter)
    return usage(limiter)
  }
  return { limiter, pay, rows }
}

it('a balance has one row, whatever was there at each charge, with the units that are settled', async () => {
  const { limiter, pay, rows } = setUp()
  await pay()
  for (let call = 0; call < 20; call += 1) {
    await limiter.check(ACME, { cost: { usd: 100_000 } })
  }
  const held = await reserve(limiter, ACME, { cost: { usd: 2_000_000 } })
  if (held.allowed) await held.settle({ usd: 500_000 })
  await limiter.check(ACME, { cost: { usd: 9_000_000 } })
  const { rows: calls, policies } = await rows()
  expect(policies).toMatchObject([
    { policy: 'credits', limit: 0, requests: 22, units: 2_500_000, denied: 1 },
  ])
  expect(calls.find(({ outcome }) => outcome === 'allowed')?.usd).toBe(2_500_000)
})
