import {
  concurrency,
  dailyCap,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { fitRange, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../../support/limiters.ts'
import { ownRedis } from '../../../support/running-redis.ts'
import { PER_TOKEN, take, TOKENS, tokensPerDay } from './support.ts'

describe('a fit', () => {
  const own = ownRedis()

  it('costs the commands and the round trip of a reservation without one', async () => {
    const policies = [
      tokensPerDay(1_000_000),
      tokenBucket({ name: 'b', limit: 60_000, window: '1m', ...TOKENS }),
      slidingWindow({ name: 'm', limit: 60_000, window: '1m', ...TOKENS }),
      slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] }),
      dailyCap({ name: 'money', limit: 1_000_000, per: ['tenant'], unit: 'usd' }),
      concurrency({ name: 'calls', limit: 5, per: ['tenant'] }),
    ]
    const bill = async (withFit: boolean) => {
      const { limiter } = setUp(policies, { store: own.store() })
      const fit = fitRange({ floor: 1, most: 100, rates: PER_TOKEN })
      const call = (tenant: string) =>
        reserve(
          limiter,
          { tenant },
          withFit ? { cost: { token: 5, usd: 1 }, fit } : { cost: { token: 105, usd: 1 } },
        )
      await call('warm')
      return own.meter.measure(async () => {
        expect(await call('acme')).toMatchObject({ allowed: true, degraded: undefined })
      })
    }
    expect(await bill(true)).toEqual(await bill(false))
  })

  it('is granted from memory while the store fails, and in full if the limiter allows blindly', async () => {
    const broken = { ...memory(), check: () => Promise.reject(new Error('down')) }
    const limiterThat = (onStoreError: 'local' | 'allow' | 'deny'): Limiter =>
      setUp([tokensPerDay(80)], { store: broken, onStoreError }).limiter
    expect(await take(limiterThat('local'))).toMatchObject({ granted: 75 })
    expect(await take(limiterThat('allow'))).toMatchObject({ granted: 100 })
    expect(await take(limiterThat('deny'))).toMatchObject({ reason: 'store_unavailable' })
  })

  it('is granted at its floor by a store of your own that does not know it', async () => {
    const inner = memory()
    const store: Store = {
      ...inner,
      check: (request) => inner.check({ ...request, fit: undefined }),
    }
    const decision = await take(setUp([tokensPerDay(80)], { store }).limiter)
    expect(decision).toMatchObject({ granted: 10, policies: [{ cost: 15, remaining: 65 }] })
  })
})
