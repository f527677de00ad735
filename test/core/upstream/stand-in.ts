/*
 * A stand-in for a model's provider whose latency has a knee, and its clients. Up to its capacity it answers as fast as
 * ever; above it calls wait for each other, disturb each other, or are refused.
 */
import { randomOf, VirtualTime } from './virtual-time.ts'

/** The behaviour above the capacity. */
export type Overload = 'waits' | 'collapses' | 'refuses'

/** An upstream, and the traffic that it gets. Times are in ms. */
export interface Scenario {
  readonly overload: Overload
  /** The calls at once up to which it is as fast as ever, at a time. */
  readonly capacity: (time: number) => number
  readonly latencyMs: (time: number) => number
  /** True while every call fails; `'hangs'` if calls then end after ten seconds only. @default never */
  readonly outage?: (time: number) => boolean | 'hangs'
  /** The part of calls that fail, at random. @default 0 */
  readonly failures?: number
  /** The spread of latency: the standard deviation of its logarithm. */
  readonly spread: number
  /** The calls that clients begin, as a multiple of what the upstream can answer at first. */
  readonly traffic: (time: number) => number
  readonly isolates: number
  readonly seconds: number
}

/** The gate that admits calls: an adaptive limit, a constant, or a bulkhead. It knows the isolate. */
export interface Admission {
  /** Makes the call unless it is refused. */
  admit(isolate: number, call: () => Promise<Response>): Promise<unknown>
  /** The present limit, for the record. */
  limit(): number
}

export interface Run {
  /** Answers in time, by second of their arrival. */
  readonly answers: readonly number[]
  /** The limit at the end of each second. */
  readonly limits: readonly number[]
}

/** Answers that take longer than so many times the usual latency are of no use to anybody. */
const IN_TIME = 2.5

const REFUSED_MS = 50
const HANGS_MS = 10_000

/** Runs a scenario in virtual time. All calls arrive at random, in the same way for a seed. */
export async function play(
  scenario: Scenario,
  makeAdmission: (time: VirtualTime) => Admission,
  seed = 1,
): Promise<Run> {
  const { overload, capacity, latencyMs, outage, spread, traffic, isolates, seconds } = scenario
  const { failures = 0 } = scenario
  const time = new VirtualTime()
  const arrivals = randomOf(seed)
  const noise = randomOf(seed + 1)
  const admission = makeAdmission(time)
  const answered = capacity(0) / latencyMs(0)
  const answers = Array.from({ length: seconds }, () => 0)
  const limits: number[] = []
  let atOnce = 0

  const gauss = (): number =>
    Math.sqrt(-2 * Math.log(noise() + 1e-12)) * Math.cos(2 * Math.PI * noise())

  function outcomeOf(begin: number): readonly [ms: number, status: number] {
    const usual = latencyMs(begin)
    const out = outage?.(begin)
    if (out) return out === 'hangs' ? [HANGS_MS, 504] : [usual / 10, 500]
    if (failures > 0 && noise() < failures) return [usual, 500]
    const room = capacity(begin)
    if (overload === 'refuses' && atOnce > room) return [REFUSED_MS, 429]
    const crowd = Math.max(1, atOnce / room)
    const ms = usual * Math.exp(spread * gauss() - spread ** 2 / 2)
    if (overload === 'waits') return [ms * crowd, 200]
    return [overload === 'collapses' ? ms * crowd ** 1.5 : ms, 200]
  }

  const call = (): Promise<Response> => {
    const begin = time.now
    atOnce += 1
    const [ms, status] = outcomeOf(begin)
    return new Promise((resolve) => {
      time.at(begin + ms, () => {
        atOnce -= 1
        const second = Math.floor(time.now / 1_000)
        const isInTime = status === 200 && ms <= IN_TIME * latencyMs(0)
        if (isInTime && second < seconds) answers[second]! += 1
        resolve(new Response(null, { status }))
        return Promise.resolve()
      })
    })
  }

  const arrive = (): Promise<void> => {
    const rate = traffic(time.now) * answered
    time.at(time.now - Math.log(1 - arrivals()) / rate, arrive)
    const isolate = Math.floor(arrivals() * isolates)
    void admission.admit(isolate, call)
    return Promise.resolve()
  }

  time.at(0, arrive)
  for (let second = 1; second <= seconds; second += 1) {
    await time.runUntil(second * 1_000)
    limits.push(admission.limit())
  }
  return { answers, limits }
}

export const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0)

/** Admits so many calls at once. */
export function constantLimit(limit: number): Admission {
  let inFlight = 0
  return {
    limit: () => limit,
    async admit(_, call) {
      if (inFlight >= limit) return
      inFlight += 1
      await call()
      inFlight -= 1
    },
  }
}
