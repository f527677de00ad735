import {
  createLimiter,
  listen,
  manualClock,
  type Extension,
  type Limiter,
  type LimiterOptions,
  type ManualClock,
  type Problem,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { NOON } from './times.ts'

/** The subject of a test that needs only one. */
export const ACME = { tenant: 'acme' }

/** Options of a limiter whose clock is set by hand. */
export type SetUpOptions = Partial<Omit<LimiterOptions, 'policies' | 'clock'>> & {
  /** @default a clock that stands at noon */
  readonly clock?: ManualClock
}

/** A limiter of these policies and its clock, which stands at noon; in memory by default. */
export function setUp(
  policies: LimiterOptions['policies'],
  { clock = manualClock(NOON), ...options }: SetUpOptions = {},
): { limiter: Limiter; clock: ManualClock } {
  return { limiter: createLimiter({ store: memory(), policies, clock, ...options }), clock }
}

/** An extension that collects the problems of its limiter. */
export function collectProblems(): { problems: Problem[]; listener: Extension } {
  const problems: Problem[] = []
  return { problems, listener: listen({ problem: (problem) => void problems.push(problem) }) }
}
