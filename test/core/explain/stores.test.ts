import { slidingWindow } from '@sluice/core'
import { explain, explanationText } from '@sluice/core/explain'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'

const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })
const tpm = slidingWindow({
  name: 'tpm',
  limit: 100,
  window: '1m',
  per: ['tenant'],
  unit: 'token',
})

describe.each(STORES_TO_TEST)('explain, over %s', (name) => {
  const make = storesOf(name)

  it('names what denies, and what would let it pass; it charges nothing', async () => {
    const { limiter, clock } = setUp([rpm, tpm], { store: make() })
    await limiter.check(ACME, { cost: { request: 1, token: 90 } })
    clock.advance(23_000)
    const explanation = await explain(limiter, ACME, { cost: { request: 1, token: 22 } })
    expect(explanation.denials).toEqual([
      {
        policy: 'tpm',
        reason: 'rate_limit_exceeded',
        unit: 'token',
        used: 90,
        most: 100,
        cost: 22,
        retryAfterMs: 37_000,
        raise: { setting: 'limit', to: 112 },
      },
    ])
    expect(explanation.fittingCost).toEqual({ request: 1, token: 10 })
    expect(explanationText(explanation).split('\n')).toEqual([
      'Denied by tpm: 90 of 100 tokens used, and it asks for 22.',
      '  It fits in 37s if nothing else is charged.',
      '  It fits now with 12 tokens less.',
      '  It fits now with a limit of 112 for tpm.',
      '  rpm: 1 of 60 requests used',
    ])
    const { policies } = await limiter.peek(ACME, { cost: { token: 0, request: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([59, 10])
  })
})
