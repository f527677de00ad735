import { bulkhead } from 'cockatiel'
import { describe, expect, it } from 'vitest'
import { adaptiveCalls } from './adaptive.ts'
import {
  constantLimit,
  play,
  sumOf,
  type Admission,
  type Overload,
  type Run,
  type Scenario,
} from './stand-in.ts'

/** The gate plays each scenario once, `UPSTREAM_SEEDS=3` three times. */
const SEEDS = Array.from({ length: Number(process.env['UPSTREAM_SEEDS'] ?? 1) }, (_, at) => at + 1)

/** An upstream for 40 calls at once, each of half a second, and twice the traffic that it can answer. */
const STEADY: Scenario = {
  overload: 'waits',
  capacity: () => 40,
  latencyMs: () => 500,
  spread: 0.2,
  traffic: () => 2,
  isolates: 4,
  seconds: 600,
}

const CONSTANTS = [0.6, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.8]

const known = new Map<string, Promise<number>>()

/** The answers of the best constant in hindsight. It does not depend on the isolates. */
function bestOf(scenario: Scenario, seed = 1): Promise<number> {
  const key = `${scenario.overload} ${seed}`
  const best = known.get(key) ?? findBest(scenario, seed)
  known.set(key, best)
  return best
}

async function findBest(scenario: Scenario, seed: number): Promise<number> {
  let best = 0
  for (const part of CONSTANTS) {
    const limit = Math.round(part * scenario.capacity(0))
    const { answers } = await play(scenario, () => constantLimit(limit), seed)
    best = Math.max(best, sumOf(answers))
  }
  return best
}

const adaptive = (scenario: Scenario, seed?: number): Promise<Run> =>
  play(scenario, (time) => adaptiveCalls(time, scenario.isolates), seed)

const meanOf = (numbers: readonly number[]): number => sumOf(numbers) / numbers.length

/** Returns the part of the numbers that is within `tolerance` of their mean. */
function partWithin(numbers: readonly number[], tolerance: number): number {
  const mean = meanOf(numbers)
  return meanOf(numbers.map((number) => (Math.abs(number / mean - 1) <= tolerance ? 1 : 0)))
}

const OVERLOADS: readonly (readonly [Overload, leastPart: number])[] = [
  ['waits', 0.95],
  ['collapses', 0.95],
  // Each probe beyond the capacity is refused: it is found at once, and costs nothing but the step back.
  ['refuses', 0.94],
]

describe.each(OVERLOADS)('an upstream whose overload %s', (overload, leastPart) => {
  it.each([1, 4])(
    'is used as by the best constant, by %d isolates',
    { timeout: 120_000 },
    async (isolates) => {
      const scenario = { ...STEADY, overload, isolates }
      const parts: number[] = []
      for (const seed of SEEDS) {
        const { answers, limits } = await adaptive(scenario, seed)
        parts.push(sumOf(answers) / (await bestOf(scenario, seed)))
        // Nothing changes: minute by minute.
        for (let from = 60; from < scenario.seconds; from += 60) {
          const minute = limits.slice(from, from + 60)
          expect(partWithin(minute, 0.1)).toBeGreaterThanOrEqual(0.6)
          expect(partWithin(minute, 0.25)).toBeGreaterThanOrEqual(0.95)
          const tens = [0, 10, 20, 30, 40, 50].map((at) =>
            sumOf(answers.slice(from + at, from + at + 10)),
          )
          expect(partWithin(tens, 0.1)).toBe(1)
        }
      }
      console.info(
        `${overload}, ${isolates} isolates: ${parts.map((part) => part.toFixed(3)).join(', ')} of the best constant`,
      )
      expect(meanOf(parts)).toBeGreaterThanOrEqual(leastPart)
    },
  )
})

const BEGIN = 60
const END = 80
const isIncident = (time: number): boolean => time >= BEGIN * 1_000 && time < END * 1_000

/** Twenty seconds of trouble. */
const INCIDENTS: Record<string, Partial<Scenario>> = {
  'every call fails': { outage: isIncident },
  'every call hangs': { outage: (time) => isIncident(time) && 'hangs' },
  'a fifth of the capacity is left, and calls wait': {
    capacity: (time) => (isIncident(time) ? 8 : 40),
  },
  'a fifth of the capacity is left, and the others are refused': {
    overload: 'refuses',
    capacity: (time) => (isIncident(time) ? 8 : 40),
  },
  'all answers take twice as long': { latencyMs: (time) => (isIncident(time) ? 1_000 : 500) },
}

describe.each(Object.entries(INCIDENTS))('after an incident in which %s', (name, changes) => {
  it('is back within ten seconds', { timeout: 120_000 }, async () => {
    const back: number[] = []
    for (const seed of SEEDS) {
      const { answers } = await adaptive({ ...STEADY, ...changes, seconds: 150 }, seed)
      const usual = meanOf(answers.slice(40, BEGIN))
      const isBack = (at: number): boolean => meanOf(answers.slice(at, at + 3)) >= 0.9 * usual
      back.push(answers.findIndex((_, at) => at >= END && isBack(at)) - END)
    }
    console.info(`${name}: back after ${back.join(', ')} s`)
    expect(Math.min(...back)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...back)).toBeLessThanOrEqual(10)
  })
})

const isBusy = (time: number): boolean => time < 60_000 || time > 360_000

it(
  'keeps its limit while there is little traffic, however much latency varies',
  { timeout: 120_000 },
  async () => {
    const scenario: Scenario = {
      ...STEADY,
      spread: 0.5,
      seconds: 420,
      traffic: (time) => (isBusy(time) ? 2 : 0.05),
    }
    const { limits } = await adaptive(scenario)
    expect(Math.min(...limits.slice(59, 360))).toBeGreaterThan(25)
    expect(meanOf(limits.slice(390))).toBeGreaterThan(25)
  },
)

/** Few calls are in flight at first, and are fast. */
const QUICK_AT_FIRST: Partial<Scenario> = {
  latencyMs: (time) => (time < 15_000 ? 100 : 500),
  traffic: (time) => (time < 15_000 ? 0.1 : 0.4),
}

it(
  'finds its place though its first calls were faster than all others',
  { timeout: 120_000 },
  async () => {
    const { limits } = await adaptive({ ...STEADY, ...QUICK_AT_FIRST, seconds: 180 })
    expect(Math.min(...limits.slice(120))).toBeGreaterThan(25)
  },
)

/** Upstreams that are well whatever is asked of them, of which chance says otherwise. */
const WELL: Record<string, Partial<Scenario>> = {
  'takes 20 seconds': { latencyMs: () => 20_000, seconds: 900 },
  'varies as models do': { spread: 0.8 },
  'varies even more': { spread: 1.2, seconds: 600 },
  'fails now and then': { failures: 0.03 },
  'becomes slower while there is little traffic': {
    traffic: (time) => (time > 60_000 && time < 150_000 ? 0.05 : 2),
    latencyMs: (time) => (time < 90_000 ? 500 : 1_000),
  },
}

it.each(Object.entries(WELL))(
  'does not hold back an upstream that is well, and %s',
  { timeout: 120_000 },
  async (name, changes) => {
    const ends: number[] = []
    for (const seed of SEEDS) {
      const scenario = { ...STEADY, seconds: 300, ...changes }
      // Enough room for all of them.
      const run = await play(
        { ...scenario, capacity: (time) => (time === 0 ? 80 : 1_000_000) },
        (time) => adaptiveCalls(time, scenario.isolates),
        seed,
      )
      ends.push(Math.round(meanOf(run.limits.slice(-60))))
    }
    console.info(`${name}: limits of ${ends.join(', ')}`)
    // It asks for 160 at once. Where answers vary so much, its place is found roughly.
    expect(Math.min(...ends)).toBeGreaterThan(30)
  },
)

/** Each isolate has its part of a bulkhead: it knows nothing of the others. */
function bulkheads(isolates: number, limit: number): Admission {
  const all = Array.from({ length: isolates }, () => bulkhead(limit / isolates))
  return {
    limit: () => limit,
    admit: (isolate, call) => all[isolate]!.execute(call).catch(() => {}),
  }
}

it(
  'answers more than constants and bulkheads when the capacity changes',
  { timeout: 120_000 },
  async () => {
    const scenario: Scenario = {
      ...STEADY,
      overload: 'collapses',
      seconds: 360,
      // Usual, poor, and good.
      capacity: (time) => (time < 120_000 ? 40 : time < 240_000 ? 15 : 80),
    }
    const { answers } = await adaptive(scenario)
    const others: Record<string, (limit: number) => Admission> = {
      'a constant': constantLimit,
      "cockatiel's bulkhead": (limit) => bulkheads(scenario.isolates, limit),
    }
    for (const [name, make] of Object.entries(others)) {
      for (const limit of [16, 40, 80]) {
        const other = sumOf((await play(scenario, () => make(limit))).answers)
        const ratio = sumOf(answers) / other
        console.info(`${ratio.toFixed(2)} times the answers in time of ${name} of ${limit}`)
        expect(ratio).toBeGreaterThan(1.2)
      }
    }
  },
)

it.each(OVERLOADS)(
  'a rate follows an upstream whose overload %s, too',
  { timeout: 120_000 },
  async (overload) => {
    const scenario = { ...STEADY, overload }
    const { answers } = await play(scenario, (time) =>
      adaptiveCalls(time, scenario.isolates, 'calls a second'),
    )
    const part = sumOf(answers) / (await bestOf(scenario))
    console.info(
      `${overload}, as a rate: ${part.toFixed(3)} of the best constant of calls in flight`,
    )
    // A rate has no room for chance: what begins together is in flight together.
    expect(part).toBeGreaterThan(0.5)
  },
)
