/** A function that takes one measurement. */
export type Sample = () => number | Promise<number>

/** Measurements by name, one per round. */
export type Measurements<Name extends string> = Readonly<Record<Name, readonly number[]>>

/** The number of rounds to take, and a listener for each. */
export interface Rounds {
  readonly rounds: number
  /** Called before each round, from 1; 0 while warming up. */
  readonly onRound?: (round: number) => void
}

/** Rounds that do not count: they compile code and open connections. */
const WARM_UP_ROUNDS = 2

/**
 * Takes every sample in turn (A B C A B C …), so that a slower machine is slower for all of them. A
 * round has `turns` of each sample and keeps their median.
 */
export async function interleave<Name extends string>(
  { rounds, onRound }: Rounds,
  samples: Readonly<Record<Name, Sample>>,
  turns = 1,
): Promise<Measurements<Name>> {
  const names = Object.keys(samples) as Name[]
  const medians = Object.fromEntries(names.map((name) => [name, [] as number[]]))
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    onRound?.(Math.max(0, round + 1))
    const values = new Map(names.map((name) => [name, [] as number[]]))
    for (let turn = 0; turn < turns; turn += 1) {
      for (const name of names) values.get(name)?.push(await samples[name]())
    }
    if (round < 0) continue
    for (const [name, samplesOfRound] of values) medians[name]?.push(median(samplesOfRound))
  }
  return medians as Record<Name, number[]>
}

/** Measures the milliseconds per call of `calls` calls, one after the other. */
export async function sequential(calls: number, call: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  for (let index = 0; index < calls; index += 1) await call()
  return (performance.now() - start) / calls
}

/** Measures the calls per second of parallel lanes, each of which makes `calls` one after the other. */
export async function callsPerSecond(
  lanes: number,
  calls: number,
  call: () => Promise<unknown>,
): Promise<number> {
  const start = performance.now()
  const lane = async (): Promise<void> => {
    for (let index = 0; index < calls; index += 1) await call()
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return (lanes * calls * 1_000) / (performance.now() - start)
}

/**
 * Measures the microseconds of CPU per call of `calls` calls, one after the other. It takes the whole
 * process, so that garbage collection on other threads counts and other processes do not.
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

/** Returns the value that a `share` of `values` lies below: 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const position = share * (sorted.length - 1)
  const index = Math.floor(position)
  const [low = Number.NaN, high = low] = sorted.slice(index, index + 2)
  return low + (high - low) * (position - index)
}

export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** Returns the ratio of two measurements, round by round. */
export const ratios = (values: readonly number[], reference: readonly number[]): number[] =>
  values.map((value, round) => value / (reference[round] ?? Number.NaN))
