import { createLimiter, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { objectsInProcess, storeIn } from '../support/objects.ts'
import { sharedRedis } from '../support/running-redis.ts'
import { NOON } from '../support/times.ts'
import { Oracle } from './model/oracle.ts'
import { policiesOf, type Rule } from './model/rules.ts'

const WINDOW_MS = 60_000
const subject = { tenant: 'a', route: 'x' }
const RULE: Rule = {
  kind: 'sliding',
  limit: 1,
  burst: 1,
  windowMs: WINDOW_MS,
  per: ['tenant'],
  unit: 'request',
  enforced: true,
  route: undefined,
  segments: 1,
  wait: false,
  log: undefined,
}

const shared = sharedRedis()

/** Rules in memory, in Redis and in the oracle, which must say the same at each step. */
function setUp(...own: readonly Partial<Rule>[]) {
  const rules = own.map((one): Rule => Object.assign({}, RULE, one))
  const clock = manualClock(NOON)
  const limiters = [memory(), shared.store(), storeIn(objectsInProcess().namespace)].map((store) =>
    createLimiter({ store, policies: policiesOf(rules), clock }),
  )
  const oracle = new Oracle(rules)

  async function ask(cost: number, apply = true): Promise<boolean> {
    const { allowed, opinions } = oracle.decide(
      { ...subject, cost: { request: cost } },
      clock(),
      apply,
    )
    for (const limiter of limiters) {
      const decision = await (apply
        ? limiter.check(subject, { cost })
        : limiter.peek(subject, { cost }))
      expect(decision).toMatchObject({ allowed, degraded: undefined, policies: opinions })
    }
    return allowed
  }

  async function fill(times: number, gapMs: number, cost = 1): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      await ask(cost)
      clock.advance(gapMs)
    }
  }
  return { ask, fill, clock, oracle }
}

/** Costs whose retry time lies at the head, around the first reads of the script, and at the end. */
const DEPTHS = [1, 2, 15, 16, 17, 18, 511, 512, 513, 528, 529, 530, 699, 700]

describe('a sliding window with more entries than the script reads at once', () => {
  it('finds the retry time of any cost, however deep it lies', async () => {
    const { ask, fill } = setUp({ limit: 700 })
    await fill(700, 50)
    for (const cost of DEPTHS) expect(await ask(cost)).toBe(false)
    expect(await ask(701)).toBe(false)
  })

  it('finds it behind expired entries, at each border of a batch', async () => {
    const { ask, fill, clock } = setUp({ limit: 1_200 })
    await fill(1_200, 40)
    const lastAt = clock()
    for (const expired of [
      1, 15, 16, 17, 18, 527, 528, 529, 530, 600, 1_040, 1_041, 1_199, 1_200,
    ]) {
      clock.set(NOON + (expired - 1) * 40 + WINDOW_MS)
      expect(await ask(expired, false)).toBe(true)
      expect(await ask(expired + 1, false)).toBe(false)
      expect(await ask(1_200, false)).toBe(expired === 1_200)
      expect(await ask(0)).toBe(true)
    }
    expect(clock()).toBeGreaterThan(lastAt)
  })

  it('goes on counting exactly after more than 600 expired entries are removed', async () => {
    const { ask, fill, clock, oracle } = setUp({ limit: 700 })
    await fill(700, 50)
    clock.set(NOON + 649 * 50 + WINDOW_MS)
    expect(await ask(650)).toBe(true)
    expect(await ask(1)).toBe(false)
    await fill(80, 700)
    await fill(40, 1_300, 9)
    expect(oracle.fullest()).toBe(1)
  })

  it('removes expired entries sixteen at a time without losing a unit', async () => {
    const { fill, oracle } = setUp({ limit: 40 })
    await fill(300, 1_499)
    await fill(120, 2_000, 3)
    await fill(60, 31_000, 7)
    await fill(60, 61_000, 20)
    await fill(60, 1, 2)
    await fill(30, 130_000, 40)
    expect(oracle.fullest()).toBe(1)
  })
})

/** Numbers of members in the shorter window, around the size of a batch. */
const HELD = [1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 575, 576, 577, 578, 699, 700]

describe('a log with more entries than the script reads at once', () => {
  const short = { limit: 700, log: 1 }
  const long = { limit: 1_300, windowMs: 3 * WINDOW_MS, log: 1 }

  it('finds the units and the retry time of each window, wherever they begin', async () => {
    const { ask, fill, clock } = setUp(short, long)
    await fill(700, 50)
    for (const cost of DEPTHS) expect(await ask(cost)).toBe(false)
    for (const held of HELD.toReversed()) {
      clock.set(NOON + (700 - held - 1) * 50 + WINDOW_MS)
      expect(await ask(700 - held, false)).toBe(held >= 100)
      expect(await ask(701 - held, false)).toBe(false)
      expect(await ask(600, false)).toBe(held <= 100)
      expect(await ask(0)).toBe(true)
    }
  })

  it('goes on counting exactly while it removes expired entries', async () => {
    const { ask, fill, clock, oracle } = setUp(short, long)
    await fill(700, 50)
    clock.set(NOON + 649 * 50 + WINDOW_MS)
    expect(await ask(600)).toBe(true)
    expect(await ask(1)).toBe(false)
    clock.set(NOON + 599 * 50 + long.windowMs)
    expect(await ask(1_201)).toBe(false)
    await fill(80, 700)
    await fill(40, 1_300, 9)
    await fill(60, 61_000, 20)
    await fill(60, 1, 2)
    await fill(30, 130_000, 40)
    expect(oracle.fullest()).toBe(1)
  })
})
