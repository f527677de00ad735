/* The record in which isolates share an adaptive limit: two dozen numbers, joined by commas. */
import { startOf, type Adaptation, type Bounds } from './adaptation.ts'
import { NO_SUMS, type Sums } from './samples.ts'

export interface AdaptiveRecord {
  /** Grows with each step, so that others see that the limit is another. */
  readonly turn: number
  /** The time of that step, in epoch ms. */
  readonly since: number
  readonly state: Adaptation
  /** The calls that isolates have seen since that step. */
  readonly sums: Sums
}

/** The number of this layout. A record of another is as none. */
const LAYOUT = 1
const HEAD = ['layout', 'turn', 'since'] as const
const STATE = ['limit', 'floorMs', 'goal', 'attempts', 'healthy', 'pace', 'capacity'] as const
const PHASES = ['returning', 'falling'] as const
const BEFORE_FALL = ['load', 'latencyMs', 'error'] as const
const SUMS = ['calls', 'failed', 'logs', 'squares', 'ms', 'failedMs', 'load'] as const
const COUNT = [HEAD, STATE, PHASES, BEFORE_FALL, SUMS].flat().length

export const firstRecord = (bounds: Bounds): AdaptiveRecord => ({
  turn: 0,
  since: 0,
  state: startOf(bounds),
  sums: NO_SUMS,
})

export function encodeRecord({ turn, since, state, sums }: AdaptiveRecord): string {
  const numbers = [
    LAYOUT,
    turn,
    since,
    ...STATE.map((name) => state[name]),
    ...PHASES.map((name) => Number(state.phase === name)),
    ...BEFORE_FALL.map((name) => state.beforeFall?.[name] ?? 0),
    ...SUMS.map((name) => sums[name]),
  ]
  return numbers.map((number) => Math.round(number * 10_000) / 10_000).join()
}

/** Returns a record within its bounds, which may have been others when it was written. `undefined` if the text is none. */
export function decodeRecord(
  text: string | undefined,
  { min, max }: Bounds,
): AdaptiveRecord | undefined {
  const numbers = text?.split(',').map(Number) ?? []
  if (numbers.length !== COUNT || !numbers.every((number) => number >= 0 && number < Infinity))
    return undefined
  const take = <Name extends string>(names: readonly Name[]): Record<Name, number> =>
    Object.fromEntries(names.map((name) => [name, numbers.shift()])) as Record<Name, number>
  const { layout, turn, since } = take(HEAD)
  if (layout !== LAYOUT) return undefined
  const state = take(STATE)
  const phases = take(PHASES)
  const beforeFall = take(BEFORE_FALL)
  const within = (value: number): number => Math.min(Math.max(value, min), max)
  return {
    turn,
    since,
    state: {
      ...state,
      phase: PHASES.find((name) => phases[name] === 1) ?? 'searching',
      limit: within(state.limit),
      goal: within(state.goal),
      healthy: within(state.healthy),
      capacity: Math.min(state.capacity, max),
      beforeFall: beforeFall.load > 0 ? beforeFall : undefined,
    },
    sums: take(SUMS),
  }
}
