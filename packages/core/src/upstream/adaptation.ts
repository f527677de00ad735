/*
 * The law by which a limit follows its upstream: from what was measured at the present limit, the next one. No clock, no
 * store: plain numbers, so that it can be tried in virtual time.
 *
 * Below its knee, an upstream answers as fast as ever, and more calls mean more answers. Above it, more calls only wait
 * for each other, or fail. So a limit is in one of three phases:
 *
 * - `returning`: far below its goal, it doubles with each step. So it starts, and so it comes back after an incident.
 *   At 0.9 of the goal it is `searching`.
 * - `searching`: it grows slowly, until answers become slow or fail. In each phase, that makes it `falling`.
 * - `falling`: it has fallen to just below the capacity that this has shown. If the upstream is then well, it grows again
 *   as its goal demands. If answers are as slow as before, its idea of a usual latency was wrong: it is `searching`.
 */

/** The range of an adaptive limit. */
export interface Bounds {
  readonly min: number
  readonly max: number
  /** True if it counts calls begun in a window, false if it counts calls in flight. */
  readonly isRate: boolean
}

/** The place of a limit in its search. */
export interface Adaptation {
  readonly phase: 'returning' | 'searching' | 'falling'
  /** The limit, with decimals: slow growth of a small one adds up. */
  readonly limit: number
  /** The latency of an upstream that is not busy, in milliseconds. 0 until it is known. */
  readonly floorMs: number
  /** The limit to come back to: the capacity as last shown, or that of before an incident. */
  readonly goal: number
  /**
   * The attempts that are left to come back to the goal. 0 if no measurement has shown that the goal is possible: then it
   * is given up as soon as another capacity is shown.
   */
  readonly attempts: number
  /** The last limit at which the upstream was well. */
  readonly healthy: number
  /** The capacity as last shown. */
  readonly capacity: number
  /** The factor of growth while searching. */
  readonly pace: number
  /** While falling, the measurement before the latest falls. Unset until the first shows: its own may be of before the trouble. */
  readonly beforeFall?: Speed | undefined
}

/** The latency of calls at a load. */
interface Speed {
  /** The mean of the most units counted against the limit in the second before each call began. */
  readonly load: number
  /** The geometric mean of the latency of those that did not fail, in milliseconds. */
  readonly latencyMs: number
  /** The standard error of its logarithm: about the part by which it may be wrong. */
  readonly error: number
}

/** The measurements of calls that began at the same limit. */
export interface Measured extends Speed {
  /** The calls, and those of them that failed. */
  readonly calls: number
  readonly failed: number
  /** The part of the capacity that failed calls have used. */
  readonly wasted: number
}

/** While searching it grows by 4 % a step; by less near the capacity as last shown, by up to half far above it. */
const PACE = 1.04
const NEAR_PACE = 1.015
const MAX_PACE = 1.5

/** A limit below this part of its goal returns to it. */
const AT_GOAL = 0.9

/** The place below the capacity to which a limit falls: slow answers have to catch up, refused calls have not. */
const BELOW_SLOW = 0.95
const BELOW_FAILING = 0.98

/** A fall to less than this part of a limit is an incident: the limit comes back to where it was. */
const INCIDENT = 0.75

/** After an incident, so many attempts are made to come back, one whenever the upstream is well: for about two minutes. */
const ATTEMPTS = 40

/** More failures than one in twenty are not the usual ones. Fewer than ten calls count as ten. */
const FAILING = 0.05
const FEW = 10

/** A limit of which less than this part is used is not shown to be too low. */
const USED = 0.7

/** The calls, or the time (ms), after which a measurement tells enough, and the fewest calls that tell something. */
const ENOUGH = 60
const ENOUGH_MS = 3_000
const FEWEST = 6

/** Answers are slow if they take a tenth longer than the floor. */
const SLOW = Math.log(1.1)

const SEARCHING = { phase: 'searching', pace: PACE, beforeFall: undefined } as const

export const startOf = ({ min, max }: Bounds): Adaptation => ({
  ...SEARCHING,
  phase: 'returning',
  limit: min,
  floorMs: 0,
  goal: max,
  attempts: 0,
  healthy: min,
  capacity: max,
})

/** Returns true if the measurement tells enough for a step, `sinceMs` after the last one. */
export function isEnough(state: Adaptation, measured: Measured, sinceMs: number): boolean {
  const { calls } = measured
  const { floorMs, pace } = state
  // A slow upstream needs longer, for as many answers.
  const afterMs = ENOUGH_MS + 2 * floorMs
  if (sinceMs >= afterMs) return calls >= FEWEST || (calls > 0 && sinceMs >= 3 * afterMs)
  // Refusals come in bursts.
  if (calls >= FEW && isFailing(measured)) return true
  if (calls >= 4 && slowness(floorMs, measured) > SLOW + 4 * measured.error) return true
  if (isBelowGoal(state)) return calls >= FEWEST
  return calls >= ENOUGH || (pace > PACE && calls * 4 >= ENOUGH)
}

/** Takes one step. */
export function adapt(before: Adaptation, measured: Measured, bounds: Bounds): Adaptation {
  const { limit, goal, beforeFall } = before
  const isFalling = before.phase === 'falling'
  const state = { ...before, floorMs: floorAfter(before.floorMs, measured, isFalling) }
  const slow = slowness(state.floorMs, measured)
  // Of few calls, the limit is not what makes them slow.
  const isSlow = slow > Math.max(SLOW, doubt(measured)) && isUsed(limit, measured)
  if (isSlow && isFalling && !isFailing(measured)) {
    const slower = { ...state, ...SEARCHING, floorMs: roughFloorOf(measured) }
    // The upstream itself has become slower. A rate does not show that, because a backlog outlasts the fall.
    if (!bounds.isRate && beforeFall && isAsSlow(beforeFall, measured))
      return { ...slower, limit: goal }
    // So few calls do not wait for each other: the floor is wrong.
    if (limit <= bounds.min) return slower
  }
  return isSlow || isFailing(measured)
    ? fall(state, measured, bounds, isSlow ? Math.max(SLOW, slow - doubt(measured)) : 0)
    : grow(state, measured, bounds)
}

/** Falls to just below the capacity that the measurement shows for sure, at most to half. */
function fall(state: Adaptation, measured: Measured, bounds: Bounds, slow: number): Adaptation {
  const { phase, limit, healthy, beforeFall } = state
  const part = Math.min(Math.exp(-slow), 1 - measured.wasted)
  const capacity = (isUsed(limit, measured) ? limit : measured.load) * part
  const below = (slow > 0 ? BELOW_SLOW : BELOW_FAILING) * capacity
  const next =
    phase === 'returning' ? between(below, 0.9 * healthy, limit) : Math.max(below, 0.5 * limit)
  const { load, latencyMs, error } = measured
  const isSettled = phase === 'falling' && hasAnswers(measured)
  return {
    ...state,
    ...goalAfterFall(state, part, capacity),
    phase: 'falling',
    pace: PACE,
    beforeFall: beforeFall ?? (isSettled ? { load, latencyMs, error } : undefined),
    limit: between(next, bounds.min, bounds.max),
    capacity: Math.min(capacity, bounds.max),
  }
}

/** After an incident the goal is where the limit was. Otherwise it is the capacity that was shown. */
function goalAfterFall(
  state: Adaptation,
  part: number,
  capacity: number,
): Pick<Adaptation, 'goal' | 'attempts'> {
  const { phase, goal, attempts } = state
  const asShown = { goal: capacity, attempts: 0 }
  if (phase === 'returning') {
    if (attempts > 0) return attempts > 1 ? { goal, attempts: attempts - 1 } : asShown
    // If nearly everything fails, no capacity is shown.
    return part < 0.3 ? { goal, attempts } : asShown
  }
  if (part < INCIDENT) {
    const proven = Math.max(state.healthy, isBelowGoal(state) ? goal : 0)
    return { goal: proven, attempts: attempts || ATTEMPTS }
  }
  return isBelowGoal(state) ? { goal, attempts } : asShown
}

/** Grows, if so much of the limit is used that it may be too low. */
function grow(state: Adaptation, measured: Measured, { min, max }: Bounds): Adaptation {
  const { phase, limit, goal, attempts, capacity } = state
  if (!isUsed(limit, measured)) return phase === 'falling' ? { ...state, ...SEARCHING } : state
  const well = { ...state, ...SEARCHING, healthy: limit }
  if (isBelowGoal(state)) {
    // The limit of before an incident is reached in two steps.
    const next = attempts > 0 ? Math.max(2 * limit, goal / 2) : 2 * limit
    const reached = between(Math.min(next, AT_GOAL * goal), min, max)
    return { ...well, phase: 'returning', limit: reached, capacity: goal }
  }
  const relative = limit / capacity
  const pace = relative > 1.15 ? Math.min(1 + (state.pace - 1) * 2, MAX_PACE) : state.pace
  const growth = Math.abs(relative - 1) < 0.04 ? NEAR_PACE : pace
  const next = between(Math.max(limit * growth, limit + 0.1), min, max)
  return { ...well, pace, limit: next, goal: Math.max(goal, limit) }
}

/** Returns true if more calls fail than chance explains: less by the standard error of their number. */
const isFailing = ({ calls, failed }: Measured): boolean =>
  failed - Math.sqrt(failed) > FAILING * Math.max(calls, FEW)

const hasAnswers = ({ calls, failed }: Measured): boolean => calls > failed

const isUsed = (limit: number, { load }: Measured): boolean => load >= USED * limit

/** The slowness that chance explains: of a few answers, which are looked at more often, more. */
const doubt = ({ calls, error }: Measured): number => (calls < ENOUGH ? 3 : 2) * error

/** The logarithm of the latency over its floor: 0 if it is as fast as ever, about 0.1 if it takes a tenth longer. */
const slowness = (floorMs: number, measured: Measured): number =>
  floorMs > 0 && hasAnswers(measured) ? Math.log(measured.latencyMs / floorMs) : 0

/** A few answers tell a new latency roughly: rather too much than too little, which would hold the limit back. */
const roughFloorOf = ({ latencyMs, error }: Measured): number => latencyMs * Math.exp(error)

/**
 * Returns the floor after a measurement. It is measured right after a fall, when the upstream is least busy, or when answers
 * are much faster than they were. The least latency of all would be the luckiest measurement.
 */
function floorAfter(floorMs: number, measured: Measured, isFalling: boolean): number {
  if (!hasAnswers(measured)) return floorMs
  if (floorMs === 0) return measured.calls >= FEWEST ? roughFloorOf(measured) : 0
  const slow = slowness(floorMs, measured)
  if (slow < -0.2 && -slow > 4 * measured.error) return roughFloorOf(measured)
  // While answers are still slow, the fall is not over.
  if (!isFalling || isFailing(measured) || slow > SLOW) return floorMs
  const weight = measured.calls / (measured.calls + ENOUGH)
  return floorMs * Math.exp(slow * weight)
}

/** Returns true if answers take about as long as before, though fewer calls are in flight: they do not wait for each other. */
function isAsSlow(before: Speed, now: Speed): boolean {
  const expected = Math.log(before.load / now.load)
  const found = Math.log(before.latencyMs / now.latencyMs)
  const error = Math.hypot(now.error, before.error)
  return expected > Math.max(0.2, 4 * error) && found < 0.3 * expected
}

const isBelowGoal = ({ limit, goal }: Adaptation): boolean => limit < AT_GOAL * goal

const between = (value: number, least: number, most: number): number =>
  Math.min(Math.max(value, least), most)
