import { createLimiter, StoreError, type StoreRequest } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ACME, collectProblems } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { DAY } from '../../support/times.ts'
import { dailyBy } from './support.ts'

const redis = sharedRedis()

describe('a process whose clock is wrong', () => {
  afterEach(() => vi.useRealTimers())

  const zone = 'Asia/Tokyo'
  const ofRedis = () =>
    createLimiter({ store: redis.store(prefix), policies: [dailyBy(3, { zone })] })
  let prefix = freshPrefix()

  it.each([-40 * DAY, -3 * DAY, -DAY, DAY, 1.05 * DAY, 2 * DAY, 3 * DAY, 400 * DAY])(
    'by %d ms computes the day of the store, after one more question',
    async (wrongMs) => {
      prefix = freshPrefix()
      const right = await ofRedis().check(ACME)
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + wrongMs })
      const { problems, listener } = collectProblems()
      const policies = [dailyBy(3, { zone })]
      const limiter = createLimiter({ store: redis.store(), policies, extensions: [listener] })
      const wrong = await limiter.check(ACME)
      expect(wrong.allowed).toBe(true)
      expect(wrong.policies[0]?.resetsAt).toBe(right.policies[0]?.resetsAt)
      expect(problems).toEqual([])
      expect((await ofRedis().check(ACME)).policies[0]?.remaining).toBe(1)
    },
  )
})

it('decides in memory by its own clock when Redis fails, whatever it has learned of the time of Redis', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * DAY })
  const { problems, listener } = collectProblems()
  const within = redis.store()
  let isDown = false
  const store = {
    ...within,
    check: (request: StoreRequest) =>
      isDown ? Promise.reject(new StoreError('store_timeout', 'down')) : within.check(request),
  }
  const policies = [dailyBy(60, { zone: 'Asia/Tokyo' })]
  const limiter = createLimiter({ store, policies, extensions: [listener] })
  expect(await limiter.check(ACME)).toMatchObject({ allowed: true, source: 'store' })
  isDown = true
  const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.check(ACME)))
  expect(decisions.filter(({ allowed, degraded }) => allowed && degraded)).toHaveLength(50)
  isDown = false
  expect(await limiter.check(ACME)).toMatchObject({ allowed: true, source: 'store' })
  expect(problems.map(({ code }) => code)).not.toContain('calendar_unknown')
  vi.useRealTimers()
})

it('says the same end in a denial that is remembered as in that of the store', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-05-01T12:00Z') })
  onTestFinished(() => void vi.useRealTimers())
  const within = redis.store()
  const slow = {
    ...within,
    async check(request: StoreRequest) {
      const reply = await within.check(request)
      vi.setSystemTime(Date.now() + 9)
      return reply
    },
  }
  const store = cacheDenials(slow)
  const limiter = createLimiter({ store, policies: [dailyBy(0, { zone: 'Europe/Berlin' })] })
  const first = await limiter.check(ACME, { cost: 1 })
  vi.setSystemTime(Date.now() + 7)
  const second = await limiter.check(ACME, { cost: 1 })
  expect([first.source, second.source]).toEqual(['store', 'cache'])
  expect(second.violated?.resetsAt).toBe(first.violated?.resetsAt)
})
