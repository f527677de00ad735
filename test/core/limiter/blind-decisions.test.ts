import { slidingWindow, StoreError, type Store } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

const fails = () => Promise.reject(new StoreError('store_unreachable', 'down'))
const down: Store = { check: fails, run: fails, reset: fails }
const rpm = slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })

describe('a decision by onStoreError alone', () => {
  it.each([
    ['allow', { allowed: true, reason: undefined, retryAfterMs: 0 }],
    ['deny', { allowed: false, reason: 'store_unavailable', retryAfterMs: 1_000 }],
  ] as const)('of %s says when to try again', async (onStoreError, outcome) => {
    const { limiter } = setUp([rpm], { store: down, onStoreError })
    expect(await limiter.check(ACME)).toMatchObject({
      ...outcome,
      policies: [],
      degraded: { mode: onStoreError, cause: 'store_unreachable' },
    })
  })
})
