import type { SeriesCounter } from './series.ts'
import type { TopBudgets } from './top-budgets.ts'

/** All that is counted for one endpoint. */
export interface Counts {
  readonly counter: SeriesCounter
  readonly top: TopBudgets | undefined
}

const COUNTS = Symbol.for('sluice.prometheus')

/**
 * Returns what is counted under this name in the process, created by the first who asks. A bundler may load a module
 * twice, as Next.js does for `proxy.ts` and for routes: only globals are the same for both.
 */
export function processCounts(name: string, create: () => Counts): Counts {
  const shared = globalThis as { [COUNTS]?: Map<string, Counts> }
  const known = (shared[COUNTS] ??= new Map())
  const counts = known.get(name) ?? create()
  known.set(name, counts)
  return counts
}
