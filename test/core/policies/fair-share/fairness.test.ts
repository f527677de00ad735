import { createLimiter, manualClock, slidingWindow } from '@sluice/core'
import { fairShare } from '@sluice/core/fair-share'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../support/running-redis.ts'
import { Random } from '../../../world/random.ts'
import { compete, fairDivision, jain, type Rival, type Window } from './competition.ts'

const shared = sharedRedis()

const LIMIT = 600
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Eight tenants of random weights that want more than there is. The first asks ten times as often. */
function backlogged(random: () => number): Rival[] {
  return Array.from({ length: 8 }, (_, at) => ({
    weight: 1 + Math.floor(random() * 4),
    wants: Infinity,
    haste: at === 0 ? 10 : 1,
  }))
}

/** Compares a window with the fair division of the limit. */
function judge({ got, wants }: Window, rivals: readonly Rival[]) {
  const fair = fairDivision(LIMIT, rivals, wants)
  const asking = rivals.flatMap(({ weight }, at) => (wants[at] === 0 ? [] : [{ weight, at }]))
  return {
    use: sum(got) / LIMIT,
    jain: jain(asking.map(({ weight, at }) => (got[at] ?? 0) / weight)),
    error: Math.max(...got.map((units, at) => Math.abs(units - (fair[at] ?? 0)))) / LIMIT,
    part: Math.min(...asking.map(({ at }) => (got[at] ?? 0) / (fair[at] ?? 1))),
  }
}

/** Runs tenants of which at most one starts or stops in five windows. */
async function contest(seed: number, windows: number, stores = [memory()]) {
  const numbers = new Random(seed)
  const random = () => numbers.next()
  const rivals = backlogged(random)
  const change = (window: number) => (window % 5 === 2 ? Math.floor(random() * 8) : undefined)
  return { rivals, ...(await compete({ stores, limit: LIMIT, rivals, windows, random, change })) }
}

const SEEDS = Array.from({ length: 8 }, (_, seed) => seed + 1)
const SCALE = Number(process.env['SHARE_WINDOWS'] ?? 10)

describe('tenants that want all they can get', () => {
  it.each(SEEDS)(
    'get their parts one window after anyone starts or stops, seed %i',
    async (seed) => {
      const { rivals, windows, decisions } = await contest(seed, SCALE)
      // In the window of a change, and the one after it, units that were lent return.
      const settled = windows.filter(({ unchanged, wants }) => unchanged > 1 && sum(wants) > 0)
      expect(settled.length).toBeGreaterThanOrEqual(SCALE / 2)
      expect(decisions).toBeGreaterThan(settled.length * LIMIT)
      for (const window of settled) {
        const { use, jain: index, error, part } = judge(window, rivals)
        expect(use).toBeGreaterThanOrEqual(0.97)
        expect(part).toBeGreaterThanOrEqual(0.95)
        expect(index).toBeGreaterThanOrEqual(0.99)
        expect(error).toBeLessThanOrEqual(0.02)
      }
      const [least, most] = [Math.min, Math.max].map((of) =>
        of(...windows.map(({ got }) => sum(got))),
      )
      expect(least).toBeGreaterThanOrEqual(0.9 * LIMIT)
      expect(most).toBeLessThanOrEqual(LIMIT)
    },
  )

  it('get the same from Redis, decision by decision', { timeout: 120_000 }, async () => {
    const { decisions, disagreements } = await contest(9, Math.ceil(SCALE / 4), [
      memory(),
      shared.store(),
    ])
    expect(decisions).toBeGreaterThan(4_000)
    expect(disagreements).toBe(0)
  })
})

describe('what some leave idle', () => {
  const GREEDY = { weight: 1, wants: Infinity, haste: 10 }
  const EAGER = { weight: 2, wants: Infinity }
  const CASES: Record<string, readonly Rival[]> = {
    'one that wants a little': [GREEDY, { weight: 1, wants: 30 }],
    'two that want different parts': [
      GREEDY,
      EAGER,
      { weight: 1, wants: 30 },
      { weight: 1, wants: 90 },
    ],
    'one that wants more than its part': [GREEDY, EAGER, { weight: 1, wants: 200 }],
    'one with a guarantee that it does not use up': [
      GREEDY,
      EAGER,
      { weight: 1, wants: 120, guarantee: 300 },
    ],
    'one with a guarantee that it uses up': [
      GREEDY,
      EAGER,
      { weight: 1, wants: Infinity, guarantee: 300 },
    ],
  }

  it.each(Object.entries(CASES))('is lent by weight, beside %s', async (_, rivals) => {
    const numbers = new Random('idle')
    const random = () => numbers.next()
    const { windows } = await compete({
      stores: [memory()],
      limit: LIMIT,
      rivals,
      windows: 14,
      random,
    })
    const settled = windows.slice(2)
    const fair = fairDivision(
      LIMIT,
      rivals,
      rivals.map(({ wants }) => wants),
    )
    for (const [at, part] of fair.entries()) {
      const mean = sum(settled.map(({ got }) => got[at] ?? 0)) / settled.length
      // Two percent are the headroom; what the others are likely to ask for is kept for them.
      expect(Math.abs(mean - part) / LIMIT).toBeLessThanOrEqual(0.06)
    }
    expect(sum(settled.map(({ got }) => sum(got))) / settled.length / LIMIT).toBeGreaterThan(0.94)
  })

  it('is shared by weight in requests of a twentieth of the limit', async () => {
    const numbers = new Random('large')
    const rivals = [GREEDY, EAGER, { weight: 1, wants: Infinity }]
    const { windows } = await compete({
      stores: [memory()],
      limit: LIMIT,
      rivals,
      windows: 20,
      random: () => numbers.next(),
      cost: () => LIMIT / 20,
    })
    const got = rivals.map((_, at) => sum(windows.slice(2).map((each) => each.got[at] ?? 0)))
    expect(jain(got.map((units, at) => units / (rivals[at]?.weight ?? 1)))).toBeGreaterThan(0.97)
    expect(sum(got) / 18 / LIMIT).toBeGreaterThan(0.85)
  })

  it('is used by one that is alone', async () => {
    const numbers = new Random('alone')
    const rivals = [GREEDY]
    const { windows } = await compete({
      stores: [memory()],
      limit: LIMIT,
      rivals,
      windows: 4,
      random: () => numbers.next(),
    })
    for (const { got } of windows) expect(sum(got)).toBeGreaterThanOrEqual(0.97 * LIMIT)
  })
})

describe('those whose guarantees are more than the limit together', () => {
  it('get as much less, each by its guarantee', async () => {
    const numbers = new Random('oversold')
    const rivals = [300, 450, 600].map((guarantee) => ({ weight: 1, guarantee, wants: Infinity }))
    const { windows } = await compete({
      stores: [memory()],
      limit: LIMIT,
      rivals,
      windows: 6,
      random: () => numbers.next(),
    })
    for (const { got } of windows.slice(2)) {
      expect(jain([(got[0] ?? 0) / 300, (got[1] ?? 0) / 450, (got[2] ?? 0) / 600])).toBeGreaterThan(
        0.99,
      )
    }
  })
})

describe('beside one that uses up the limit at once', () => {
  it.each(SEEDS)(
    'those that ask evenly, and never again, get their part, seed %i',
    async (seed) => {
      const numbers = new Random(`burst ${seed}`)
      const clock = manualClock(1_000_000_000_000 + numbers.whole(0, 9_999))
      const gpu = slidingWindow({ name: 'gpu', limit: LIMIT, window: '10s', per: 'global' })
      const limiter = createLimiter({
        store: memory(),
        clock,
        policies: [fairShare(gpu, { between: ['tenant'] })],
      })
      const next = new Map([['burst', 0]])
      const [asked, got] = [
        [0, 0, 0, 0],
        [0, 0, 0, 0],
      ]
      let joinedMs: number | undefined
      for (let ms = 0; ms < (joinedMs ?? 0) + 40_000; ms += 1) {
        for (const [tenant, at] of next) {
          if (ms < at) continue
          const { allowed } = await limiter.check({ tenant })
          const gapMs = tenant === 'burst' ? 4 : 62
          next.set(tenant, ms + gapMs * (0.9 + 0.2 * numbers.next()))
          if (joinedMs === undefined && !allowed) {
            joinedMs = ms
            for (const one of ['a', 'b']) next.set(one, ms + 62 * numbers.next())
          }
          const window = Math.floor((ms - (joinedMs ?? ms)) / 10_000)
          if (tenant === 'burst' || window > 3) continue
          asked[window] = (asked[window] ?? 0) + 1
          if (allowed) got[window] = (got[window] ?? 0) + 1
        }
        clock.advance(1)
      }
      const shares = got.map((units, window) => units / (asked[window] ?? 1))
      // Until the burst has left the window, nothing is free but the headroom.
      expect(shares[1]).toBeGreaterThanOrEqual(0.8)
      expect(Math.min(...shares.slice(2))).toBeGreaterThanOrEqual(0.95)
    },
  )
})
