import { fixedWindow, slidingWindow, slidingWindowCounter, tokenBucket } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { algorithmConformance, storeConformance } from '@sluice/core/testing'
import { describe, it } from 'vitest'
import { storesOf } from '../../support/stores.ts'

describe('the conformance suite of stores', () => {
  describe('memory', () => {
    storeConformance({ describe, it, makeStore: () => memory() })
  })
  describe('redis over REST', () => {
    const makeStore = storesOf('redis, built-in transport')
    storeConformance({ describe, it, makeStore })
  })
})

describe('the conformance suite of algorithms', () => {
  const makeStores = { memory: () => memory(), redis: storesOf('redis, built-in transport') }
  describe.each([
    ['a sliding window', slidingWindow],
    ['a fixed window', fixedWindow],
    ['a sliding window counter', slidingWindowCounter],
    ['a token bucket', tokenBucket],
  ] as const)('%s', (_, factory) => {
    algorithmConformance({
      describe,
      it,
      makePolicy: (options) => factory({ ...options, window: '1m' }),
      makeStores,
      histories: 5,
    })
  })
})
