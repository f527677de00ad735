import { entryOf } from '../groups.ts'

/** Lengths of intervals in milliseconds: from a second to a week. */
const LENGTHS = [1, 5, 15, 60, 300, 900, 3_600, 10_800, 43_200, 86_400, 604_800].map(
  (seconds) => seconds * 1_000,
)

/** The most intervals to keep. */
const MAX_INTERVALS = 180

/** Sums over intervals of the same length. */
export interface TimeSeries<Name extends string> {
  /** Adds to the interval of `at` (epoch ms). */
  add(at: number, amounts: Readonly<Record<Name, number>>): void
  /** The length of an interval in milliseconds. */
  readonly intervalMs: number
  /** Returns the intervals in order of time, those without calls included. */
  read(): readonly Interval<Name>[]
}

/** The sums of one interval. */
export type Interval<Name extends string> = { readonly at: number } & Readonly<Record<Name, number>>

/** Creates sums by time. Their intervals become longer as the log does, so that their number is bounded. */
export function createTimeSeries<Name extends string>(names: readonly Name[]): TimeSeries<Name> {
  let length = 0
  let sums = new Map<number, Record<Name, number>>()
  let [first, last] = [Infinity, -Infinity]
  const intervalMs = (): number => LENGTHS[length] ?? 0

  function addTo(target: typeof sums, at: number, amounts: Readonly<Record<Name, number>>): void {
    const start = Math.floor(at / intervalMs()) * intervalMs()
    const sum = entryOf(target, start, () => zeros(names))
    for (const name of names) sum[name] += amounts[name]
  }

  function lengthen(): void {
    length += 1
    const longer: typeof sums = new Map()
    for (const [at, amounts] of sums) addTo(longer, at, amounts)
    sums = longer
  }

  return {
    add(at, amounts) {
      first = Math.min(first, at)
      last = Math.max(last, at)
      while ((last - first) / intervalMs() >= MAX_INTERVALS && length < LENGTHS.length - 1)
        lengthen()
      addTo(sums, at, amounts)
    },
    get intervalMs() {
      return intervalMs()
    },
    read() {
      const step = intervalMs()
      const intervals: Interval<Name>[] = []
      for (let at = Math.floor(first / step) * step; at <= last; at += step) {
        intervals.push({ at, ...(sums.get(at) ?? zeros(names)) })
      }
      return intervals
    },
  }
}

const zeros = <Name extends string>(names: readonly Name[]): Record<Name, number> =>
  Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>
