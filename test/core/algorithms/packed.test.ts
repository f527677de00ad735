import { coarse, packed, slidingWindow, type Policy } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { algorithmConformance } from '@sluice/core/testing'
import { describe, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()

describe.each([
  ['packed', (policy: Policy) => packed(policy)],
  ['coarse', (policy: Policy) => coarse(policy, { maxError: 0.5 })],
])('a %s window', (_, wrap) => {
  algorithmConformance({
    describe,
    it,
    makePolicy: (options) => wrap(slidingWindow({ ...options, window: '1m' })),
    makeStores: { memory: () => memory(), redis: () => shared.store() },
  })
})
