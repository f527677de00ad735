import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, manualClock } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { KIND_NAMES, KINDS } from '../../support/kinds.ts'
import { ACME } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'

const shared = sharedRedis()

describe('by an injected clock that stands still, on Redis,', () => {
  it.each(KIND_NAMES)('a %s keeps its count past the end of its window', async (kind) => {
    // 20 ms before the end of a month, by a clock that Redis does not go by.
    const clock = manualClock(Date.UTC(2026, 0, 31, 23, 59, 59, 980))
    const limiter = createLimiter({ store: shared.store(), policies: [KINDS[kind]('p', 2)], clock })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: undefined })
    expect((await limiter.check(ACME)).allowed).toBe(true)
    await sleep(60)
    expect((await limiter.check(ACME)).allowed).toBe(false)
  })
})
