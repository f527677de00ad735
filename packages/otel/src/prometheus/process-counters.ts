import { SeriesCounter } from './series.ts'

const COUNTERS = Symbol.for('sluice.prometheus')

/**
 * Returns the counter of this name in the process, created by the first who asks. A bundler may load a module
 * twice, as Next.js does for `proxy.ts` and for routes: only globals are the same for both.
 */
export function processCounter(name: string, maxSeries: number): SeriesCounter {
  const shared = globalThis as { [COUNTERS]?: Map<string, SeriesCounter> }
  const counters = (shared[COUNTERS] ??= new Map())
  const counter = counters.get(name) ?? new SeriesCounter(maxSeries)
  counters.set(name, counter)
  return counter
}
