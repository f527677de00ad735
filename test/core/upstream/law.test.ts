import { createLimiter, concurrency, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { adaptiveLimit } from '@sluice/core/upstream'
import { describe, expect, it } from 'vitest'
import {
  adapt,
  startOf,
  type Adaptation,
  type Measured,
} from '../../../packages/core/dist/upstream/adaptation.js'
import { Watched } from '../../support/watched-store.ts'
import { NOON } from '../../support/times.ts'

const BOUNDS = { min: 4, max: 200, isRate: false }

/** A limit that has found its place. */
const AT_REST: Adaptation = {
  ...startOf(BOUNDS),
  limit: 100,
  floorMs: 500,
  goal: 100,
  healthy: 100,
  capacity: 100,
  phase: 'searching',
}

/** Many calls that use the whole limit, and are as fast as ever. */
const WELL: Measured = {
  calls: 200,
  failed: 0,
  latencyMs: 500,
  error: 0.02,
  wasted: 0,
  load: 100,
}

const step = (state: Partial<Adaptation>, measured: Partial<Measured>): Adaptation =>
  adapt({ ...AT_REST, ...state }, { ...WELL, ...measured }, BOUNDS)

describe('a limit', () => {
  it.each<readonly [string, Partial<Measured>, 'grows' | 'falls' | 'stays']>([
    ['is used, and answers are as fast as ever', {}, 'grows'],
    ['is used, and answers are slow', { latencyMs: 750 }, 'falls'],
    [
      'is used, and a few answers are slow by chance',
      { latencyMs: 750, calls: 6, error: 0.2 },
      'grows',
    ],
    ['is used, and one of twenty fails', { failed: 10, wasted: 0.05 }, 'grows'],
    ['is used, and one of ten fails', { failed: 20, wasted: 0.1 }, 'falls'],
    ['is used, and one of six fails', { calls: 6, failed: 1, wasted: 0.17, error: 0.2 }, 'grows'],
    ['is hardly used', { load: 20 }, 'stays'],
    ['is hardly used, and answers are slow', { load: 20, latencyMs: 1_500 }, 'stays'],
    ['is hardly used, and calls fail', { load: 20, failed: 100, wasted: 0.5 }, 'falls'],
  ])('that %s', (_, measured, what) => {
    const { limit } = step({}, measured)
    expect(Math.sign(limit - AT_REST.limit)).toBe({ grows: 1, falls: -1, stays: 0 }[what])
  })

  it('falls to just below the capacity that latency shows', () => {
    expect(step({}, { latencyMs: 750 }).limit).toBeGreaterThan(60)
    expect(step({}, { latencyMs: 750 }).limit).toBeLessThan(70)
  })

  it('that is at its min doubts its floor, if answers stay slow', () => {
    let state: Adaptation = { ...AT_REST, limit: 4, goal: 4, capacity: 4, healthy: 4, floorMs: 100 }
    for (let turn = 0; turn < 30; turn += 1) {
      state = adapt(state, { ...WELL, load: state.limit }, BOUNDS)
    }
    expect(state.limit).toBeGreaterThan(20)
  })

  it('comes back in two steps after an incident, and tries again after each that fails', () => {
    const fallen = step({}, { failed: 200, wasted: 1, latencyMs: 1 })
    expect([fallen.limit, fallen.goal]).toEqual([50, 100])
    const first = adapt({ ...fallen, limit: 10 }, { ...WELL, load: 10 }, BOUNDS)
    const second = adapt(first, { ...WELL, load: first.limit }, BOUNDS)
    expect([first.limit, second.limit]).toEqual([50, 90])
    const failed = adapt(first, { ...WELL, load: 50, failed: 160, wasted: 0.8 }, BOUNDS)
    expect(failed.limit).toBeLessThan(15)
    expect(failed.goal).toBe(100)
  })

  it('takes the latency of an upstream that has become slower for its usual one', () => {
    const slow = { latencyMs: 1_000 }
    let state = step({}, slow)
    const limits: number[] = []
    for (let turn = 0; turn < 6; turn += 1) {
      limits.push(state.limit)
      state = adapt(state, { ...WELL, ...slow, load: state.limit }, BOUNDS)
    }
    expect(Math.min(...limits)).toBeLessThan(60)
    expect(state.limit).toBeGreaterThanOrEqual(100)
    expect(state.floorMs).toBeGreaterThan(900)
  })
})

it('says nothing about calls that run, before it knows how long they usually take', async () => {
  const store = new Watched(memory())
  const clock = manualClock(NOON)
  const model = adaptiveLimit({ policy: 'calls', min: 4 })
  const policies = [concurrency({ name: 'calls', limit: 50, per: 'global' })]
  const limiter = createLimiter({ store, clock, policies, extensions: [model] })
  await limiter.check({})
  let answer!: () => void
  const answered = new Promise<void>((resolve) => (answer = resolve))
  clock.advance(3_000)
  const calls = Array.from({ length: 10 }, () => model.observe(() => answered))
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(1_000)
      await limiter.check({})
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await pass(20)
  expect(store.calls.writes).toBe(0)
  answer()
  await Promise.all(calls)
  await pass(2)
  expect(store.calls.writes).toBe(1)
})
