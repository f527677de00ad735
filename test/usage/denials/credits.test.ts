import { createLimiter, manualClock } from '@sluice/core'
import { credits } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import {
  denialId,
  denialText,
  denyingText,
  recordDenials,
  type DenialIdOptions,
} from '@sluice/usage/denials'
import { expect, it } from 'vitest'
import { denialOf } from '../../../packages/usage/dist/denials/denial.js'
import { NOON } from '../../support/times.ts'

it('a recorded denial by a balance says what was left, and that a top-up was needed', async () => {
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(NOON),
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
  })
  const decision = await limiter.check({ tenant: 'acme' }, { cost: { usd: 120_000 } })
  if (decision.allowed) throw new Error('It should have denied')
  const kept = denialOf(decision, { tenant: 'acme' }, 'tenant')
  const denial = { id: 'req_7', ...(JSON.parse(JSON.stringify(kept)) as typeof kept) }
  expect(denyingText(denial)).toBe('credits: $0.00 left, $0.12 asked for')
  expect(denialText('acme', 'req_7', denial).split('\n').slice(1)).toEqual([
    'Denied by credits: $0.00 left, and it asked for $0.12.',
    '  It would have fitted after a top-up.',
  ])
})

it('denialId answers 402 where that is chosen', async () => {
  const limiter = createLimiter({
    store: memory(),
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
    extensions: [recordDenials()],
  })
  const statusWith = async (options: DenialIdOptions) => {
    const decision = await limiter.check({ tenant: 'acme' }, { cost: { usd: 120_000 } })
    if (decision.allowed) throw new Error('It should have denied')
    return denialId(options)(decision, new Request('https://app.example/'))?.status
  }
  expect(await statusWith({ spentStatus: 402 })).toBe(402)
  expect(await statusWith({})).toBe(429)
})
