import { readFileSync } from 'node:fs'
import {
  fixedWindow,
  leakyBucket,
  projectLimits,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { tableOf } from '../../support/markdown.ts'
import { keysUnder } from '../../support/redis.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'

const page = readFileSync(new URL('../../../docs/policies.md', import.meta.url), 'utf8')
const published = tableOf(page, 'spent in one window')
const common = { name: 'p', window: '1m', per: ['tenant'] } as const

/** The histories to measure, by the first column of the page's table. */
const SPENT: Record<string, { policies: readonly Policy[]; times: number; gapMs: number }> = {
  'slidingWindow, 60 requests': {
    policies: [slidingWindow({ ...common, limit: 60 })],
    times: 60,
    gapMs: 900,
  },
  'slidingWindow, 1,000 requests': {
    policies: [slidingWindow({ ...common, limit: 1_000 })],
    times: 1_000,
    gapMs: 50,
  },
  'projectLimits, 10,000 requests a day': {
    policies: [projectLimits()],
    times: 10_000,
    gapMs: 8_000,
  },
  'slidingWindowCounter, 1 segment': {
    policies: [slidingWindowCounter({ ...common, limit: 1_000 })],
    times: 1_000,
    gapMs: 100,
  },
  'slidingWindowCounter, 60 segments': {
    policies: [slidingWindowCounter({ ...common, limit: 1_000, segments: 60 })],
    times: 1_000,
    gapMs: 60,
  },
  tokenBucket: { policies: [tokenBucket({ ...common, limit: 1_000 })], times: 1_000, gapMs: 10 },
  leakyBucket: {
    policies: [leakyBucket({ ...common, limit: 1_000, burst: 1_000 })],
    times: 1_000,
    gapMs: 10,
  },
  fixedWindow: { policies: [fixedWindow({ ...common, limit: 1_000 })], times: 1_000, gapMs: 10 },
  sessionWindow: {
    policies: [sessionWindow({ name: 'p', limit: 1_000, idle: '1m', per: ['tenant'] })],
    times: 1_000,
    gapMs: 10,
  },
}

const AT_ONCE = 20

const shared = sharedRedis()

describe('the memory that a key takes in Redis', () => {
  it.each(Object.entries(SPENT))('for %s is as much as the page states', async (what, spent) => {
    const prefix = freshPrefix()
    const store = shared.store(prefix)
    const { limiter, clock } = setUp(spent.policies, { store })
    const acme = { tenant: 'acme', project: 'acme' }
    for (let time = 0; time < spent.times; time += AT_ONCE) {
      const checks = Array.from({ length: AT_ONCE }, () => limiter.check(acme))
      for (const { allowed } of await Promise.all(checks)) expect(allowed).toBe(true)
      clock.advance(spent.gapMs * AT_ONCE)
    }
    const keys = await keysUnder(shared.redis, prefix)
    expect(keys).toHaveLength(1)
    const bytes = (await shared.redis.memory('USAGE', keys[0] ?? '', 'SAMPLES', 0)) ?? 0
    const says = Number(published.get(what)?.['bytes']?.replaceAll(',', ''))
    // Redis' versions differ a little.
    expect(bytes).toBeGreaterThan(says * 0.75)
    expect(bytes).toBeLessThan(says * 1.25)
  })

  it('is published for nothing else', () => {
    expect([...published.keys()]).toEqual(Object.keys(SPENT))
  })
})
