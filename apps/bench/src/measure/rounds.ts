/** Takes one measurement. */
export type Sample = () => number | Promise<number>

/** Measurements by name, one a round. */
export type Measurements<Name extends string> = Readonly<Record<Name, readonly number[]>>

/** Rounds that are not counted: the compiler's, and those that open connections. */
const WARM_UP_ROUNDS = 2

/**
 * Takes every sample in turn, round by round (A B C A B C …), so that a machine that drifts drifts for
 * all of them. A round is `turns` such turns, of which it keeps the median.
 */
export async function interleave<Name extends string>(
  rounds: number,
  samples: Readonly<Record<Name, Sample>>,
  turns = 1,
): Promise<Measurements<Name>> {
  const names = Object.keys(samples) as Name[]
  const found = Object.fromEntries(names.map((name) => [name, [] as number[]]))
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    const values = new Map(names.map((name) => [name, [] as number[]]))
    for (let turn = 0; turn < turns; turn += 1) {
      for (const name of names) values.get(name)?.push(await samples[name]())
    }
    if (round < 0) continue
    for (const [name, taken] of values) found[name]?.push(median(taken))
  }
  return found as Record<Name, number[]>
}

/** Milliseconds per call of `calls` calls, one after the other. */
export async function sequential(calls: number, call: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let index = 0; index < calls; index += 1) await call()
  return (performance.now() - start) / calls
}

/**
 * Microseconds of CPU per call of `calls` calls, one after the other: those of the whole process, so
 * that a collector on another thread counts, and other processes do not.
 */
export async function cpuMicroseconds(
  calls: number,
  call: () => Promise<unknown>,
): Promise<number> {
  const before = process.cpuUsage()
  for (let index = 0; index < calls; index += 1) await call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}

/** The value that `share` of `values` lie below: 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const [low = Number.NaN, high = low] = sorted.slice(Math.floor(place), Math.floor(place) + 2)
  return low + (high - low) * (place - Math.floor(place))
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** The ratio of two measurements of each round. */
export const ratios = (values: readonly number[], reference: readonly number[]): number[] =>
  values.map((value, round) => value / (reference[round] ?? Number.NaN))
