import { breaker } from '@sluice/core/breaker'
import { memory } from '@sluice/core/memory'
import { storeConformance } from '@sluice/core/testing'
import { describe, it } from 'vitest'

describe('a breaker around a store that answers', () => {
  storeConformance({ describe, it, makeStore: () => breaker(memory()) })
})
