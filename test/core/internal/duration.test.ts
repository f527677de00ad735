import { concurrency, leakyBucket, slidingWindow } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import { lease } from '@sluice/core/leases'
import { planResolver } from '@sluice/core/plans'
import { describe, expect, it } from 'vitest'

const common = { name: 'p', limit: 5, per: ['tenant'] } as const
const rpm = slidingWindow({ ...common, window: '1m' })

describe('a duration of 60 is refused, because somebody meant seconds', () => {
  it.each([
    ['slidingWindow.window', () => slidingWindow({ ...common, window: 60 })],
    ['leakyBucket.wait', () => leakyBucket({ ...common, window: '1m', burst: 5, wait: 60 })],
    ['concurrency.maxDuration', () => concurrency({ ...common, maxDuration: 60 })],
    ['lease.duration', () => lease(rpm, { duration: 60 })],
    ['planResolver.cacheFor', () => planResolver(() => Promise.resolve('a'), { cacheFor: 60 })],
    ['reserving.settleWithin', () => reserving(1, { settleWithin: 60 })],
  ])('%s', (option, make) => {
    expect(make).toThrow(
      expect.objectContaining({
        code: 'invalid_duration',
        message: expect.stringContaining(`${option}: must be a text such as "500ms", "60s"`),
      }),
    )
  })

  it('and a text says so short a time', () => {
    expect(() => concurrency({ ...common, maxDuration: '60ms' })).not.toThrow()
    expect(() => concurrency({ ...common, maxDuration: 1_000 })).not.toThrow()
  })
})
