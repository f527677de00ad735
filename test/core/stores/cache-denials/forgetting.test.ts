import { createLimiter, definePlans, fixedWindow, type Store } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../../support/limiters.ts'
import { exhaust, setUpCache } from './support.ts'

const hourly = fixedWindow({ name: 'hourly', limit: 2, window: '1h', per: ['tenant'] })
const tokens = fixedWindow({ name: 'tpm', limit: 10, window: '1h', unit: 'token', per: ['tenant'] })

describe('a denial is forgotten in its process', () => {
  it('when the partition is reset, and that of no other', async () => {
    const { limiter, calls } = setUpCache([hourly])
    await exhaust(limiter)
    await exhaust(limiter, { tenant: 'other' })
    await limiter.reset(ACME)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
    expect(await calls(() => limiter.check({ tenant: 'other' }))).toBe(0)
  })

  it('when a reservation is settled below its estimate', async () => {
    const { limiter } = setUpCache([tokens])
    const call = await reserve(limiter, ACME, { cost: { token: 9 } })
    await exhaust(limiter, ACME, { token: 5 })
    if (call.allowed) await call.settle({ token: 1 })
    expect(await limiter.check(ACME, { cost: { token: 5 } })).toMatchObject({ allowed: true })
  })

  it('when the limit is configured', async () => {
    const extensions = [runtimeConfiguration({ allow: { hourly: ['limit', 'mode'] } })]
    const { limiter } = setUpCache([hourly], {}, { extensions })
    await exhaust(limiter)
    expect(await limiter.check(ACME)).toMatchObject({ source: 'cache' })
    await configure(limiter, { hourly: { limit: 3 } }, ACME)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
    await exhaust(limiter)
    await configure(limiter, { hourly: { mode: 'shadow' } })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })

  it('when the plan changes', async () => {
    const limiter = createLimiter({
      store: cacheDenials(memory()),
      plans: definePlans({ starter: { rpm: 1 }, growth: { rpm: 2 } }),
      policies: [
        fixedWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1h', per: ['tenant'] }),
      ],
    })
    await limiter.check({ ...ACME, plan: 'starter' })
    await limiter.check({ ...ACME, plan: 'starter' })
    expect(await limiter.check({ ...ACME, plan: 'starter' })).toMatchObject({ source: 'cache' })
    expect(await limiter.check({ ...ACME, plan: 'growth' })).toMatchObject({ allowed: true })
  })

  it('when a peek finds that units have come back', async () => {
    const { limiter, elsewhere, calls } = setUpCache([hourly])
    await exhaust(limiter)
    await elsewhere.reset(ACME)
    expect(await calls(() => limiter.check(ACME))).toBe(0)
    expect(await limiter.peek(ACME)).toMatchObject({ allowed: true })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })

  it('even if the change fails, because it may have been made', async () => {
    const { limiter, store, calls } = setUpCache([hourly])
    await exhaust(limiter)
    store.isDown = true
    await expect(limiter.reset(ACME)).rejects.toThrow('down')
    store.isDown = false
    expect(await calls(() => limiter.check(ACME))).toBe(1)
  })
})

describe('a reply under way', () => {
  it('is not kept if the partition has been reset meanwhile', async () => {
    const counts = memory()
    let release: (() => void) | undefined
    let isSlow = false
    const slow: Store = {
      ...counts,
      async check(request) {
        const reply = await counts.check(request)
        if (isSlow) await new Promise<void>((resolve) => (release = resolve))
        return reply
      },
    }
    const limiter = createLimiter({ store: cacheDenials(slow), policies: [hourly] })
    await limiter.check(ACME)
    await limiter.check(ACME)
    isSlow = true
    const denial = limiter.check(ACME)
    isSlow = false
    await limiter.reset(ACME)
    release?.()
    expect(await denial).toMatchObject({ allowed: false })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })
})

describe('the memory', () => {
  it('drops the partitions that were not used lately', async () => {
    const { limiter, calls } = setUpCache([hourly], { maxPartitions: 10 })
    await exhaust(limiter)
    for (let other = 0; other < 40; other += 1) {
      await exhaust(limiter, { tenant: `t${other}` })
      expect(await calls(() => limiter.check(ACME))).toBe(0)
    }
    expect(await calls(() => limiter.check({ tenant: 't39' }))).toBe(0)
    expect(await calls(() => limiter.check({ tenant: 't0' }))).toBe(1)
  })
})
