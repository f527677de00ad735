/*
 * The law by which a limit follows its upstream: from what was measured at the present limit, the next one. No clock, no
 * store: plain numbers, so that it can be tried in virtual time.
 *
 * Below its knee, an upstream answers as fast as ever, and more calls mean more answers. Above it, more calls only wait
 * for each other, or fail. So the limit grows until answers become slower or fail, falls to just below the capacity that
 * this has shown, and grows again.
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
  /** True while it is coming back to its goal. */
  readonly isReturning: boolean
  /** The factor by which it grows. */
  readonly pace: number
  /** The capacity as last shown. */
  readonly capacity: number
  /**
   * What was measured before the latest falls, once the first has taken effect: what led to that one may be of before the
   * trouble.
   */
  readonly beforeFall?: Pick<Measured, 'load' | 'latencyMs' | 'error'> | undefined
  readonly isFalling: boolean
}

/** The measurements of calls that began at the same limit. */
export interface Measured {
  /** The calls, and those of them that failed. */
  readonly calls: number
  readonly failed: number
  /** The geometric mean of the latency of those that did not fail, in milliseconds. */
  readonly latencyMs: number
  /** The standard error of its logarithm: about the part by which it may be wrong. */
  readonly error: number
  /** The part of the capacity that failed calls have used. */
  readonly wasted: number
  /** The mean of what was counted against the limit at most in the second before each of these began. */
  readonly load: number
}

/** The growth of a limit whose upstream is well: 4 % a step, and less near the capacity as last shown. */
const PACE = 1.04
const NEAR = 0.04
const NEAR_PACE = 1.015

/** Faster growth, up to half a step, once it is this far above the capacity as last shown. */
const BEYOND = 1.15
const MAX_PACE = 1.5

/** Answers are slow if they take a tenth longer than the floor. */
const SLOW = Math.log(1.1)

/** More failures than one in twenty are not the usual ones. */
const FAILING = 0.05

/** The calls to which fewer are rounded up, so that two that fail among six are no incident. */
const FEW = 10

/** The place below the capacity to which a limit falls: slow answers have to catch up, refused calls have not. */
const BELOW_SLOW = 0.95
const BELOW_FAILING = 0.98

/** A fall to less than this part of a limit is an incident: the limit comes back to where it was. */
const INCIDENT = 0.75

/** After an incident, so many attempts are made to come back, one whenever the upstream is well: for about two minutes. */
const ATTEMPTS = 40

/** A limit of which less than this part is used is not shown to be too low. */
const USED = 0.7

/** The calls and the time (ms) after which a measurement tells enough, and the fewest that tell something. */
const ENOUGH = { calls: 60, fewCalls: 6, ms: 3_000 }

export const startOf = ({ min, max }: Bounds): Adaptation => ({
  limit: min,
  floorMs: 0,
  goal: max,
  attempts: 0,
  healthy: min,
  isReturning: true,
  pace: PACE,
  capacity: max,
  isFalling: false,
})

/** Returns true if the measurement tells enough for a step, `sinceMs` after the last one. */
export function isEnough(state: Adaptation, measured: Measured, sinceMs: number): boolean {
  const { calls } = measured
  // A slow upstream needs longer, for as many answers.
  const afterMs = ENOUGH.ms + 2 * state.floorMs
  if (sinceMs >= afterMs) return calls >= ENOUGH.fewCalls || (calls > 0 && sinceMs >= 3 * afterMs)
  // Refusals come in bursts.
  if (calls >= FEW && isFailing(measured)) return true
  if (calls >= 4 && slowness(state, measured) > SLOW + 4 * measured.error) return true
  if (isBelowGoal(state)) return calls >= ENOUGH.fewCalls
  return calls >= ENOUGH.calls || (state.pace > PACE && calls * 4 >= ENOUGH.calls)
}

/** Takes one step. */
export function adapt(before: Adaptation, measured: Measured, bounds: Bounds): Adaptation {
  const state = { ...before, floorMs: floorOf(before, measured) }
  const slow = slowness(state, measured)
  // Of few calls, the limit is not what makes them slow.
  const isSlow = slow > Math.max(SLOW, doubt(measured)) && isUsed(state, measured)
  if (isSlow && !isFailing(measured)) {
    const slower = { ...state, ...AT_REST, floorMs: roughFloorOf(measured) }
    if (hasBecomeSlower(state, measured, bounds)) return { ...slower, limit: state.goal }
    // So few calls do not wait for each other: the floor is wrong.
    if (state.isFalling && state.limit <= bounds.min) return slower
  }
  return isSlow || isFailing(measured)
    ? fall(state, measured, bounds, isSlow ? Math.max(SLOW, slow - doubt(measured)) : 0)
    : grow(state, measured, bounds)
}

const AT_REST = { isReturning: false, pace: PACE, beforeFall: undefined, isFalling: false } as const

/** Returns true if more calls fail than chance explains: less by the standard error of their number. */
const isFailing = ({ calls, failed }: Measured): boolean =>
  failed - Math.sqrt(failed) > FAILING * Math.max(calls, FEW)

const hasAnswers = ({ calls, failed }: Measured): boolean => calls > failed

const isUsed = ({ limit }: Adaptation, { load }: Measured): boolean => load >= USED * limit

const isBelowGoal = ({ limit, goal }: Adaptation): boolean => limit < 0.9 * goal

/** The slowness that chance explains: of a few answers, which are looked at more often, more. */
const doubt = ({ calls, error }: Measured): number => (calls < ENOUGH.calls ? 3 : 2) * error

/** The logarithm of the latency over its floor: 0 if it is as fast as ever, about 0.1 if it takes a tenth longer. */
function slowness({ floorMs }: Adaptation, measured: Measured): number {
  return floorMs > 0 && hasAnswers(measured) ? Math.log(measured.latencyMs / floorMs) : 0
}

/** A few answers tell a new latency roughly: rather too much than too little, which would hold the limit back. */
const roughFloorOf = ({ latencyMs, error }: Measured): number => latencyMs * Math.exp(error)

/**
 * The floor is what is measured right after a fall, when the upstream is least busy, and what is much faster than it was.
 * The least latency of all would be the luckiest measurement.
 */
function floorOf(state: Adaptation, measured: Measured): number {
  const { floorMs, isFalling } = state
  if (!hasAnswers(measured)) return floorMs
  if (floorMs === 0) return measured.calls >= ENOUGH.fewCalls ? roughFloorOf(measured) : 0
  const slow = slowness(state, measured)
  if (slow < -0.2 && -slow > 4 * measured.error) return roughFloorOf(measured)
  // While answers are still slow, the fall is not over.
  if (!isFalling || isFailing(measured) || slow > SLOW) return floorMs
  const weight = measured.calls / (measured.calls + ENOUGH.calls)
  return floorMs * Math.exp(slow * weight)
}

/**
 * Returns true if answers take as long as before a fall, though fewer calls are in flight: they do not wait for each other,
 * the upstream itself has become slower. A rate does not show that, because a backlog outlasts the fall.
 */
function hasBecomeSlower(state: Adaptation, measured: Measured, { isRate }: Bounds): boolean {
  const { beforeFall } = state
  if (isRate || !beforeFall) return false
  const expected = Math.log(beforeFall.load / measured.load)
  const found = Math.log(beforeFall.latencyMs / measured.latencyMs)
  const error = Math.hypot(measured.error, beforeFall.error)
  return expected > Math.max(0.2, 4 * error) && found < 0.3 * expected
}

/** Falls to just below the capacity that the measurement shows for sure, at most to half. */
function fall(state: Adaptation, measured: Measured, bounds: Bounds, slow: number): Adaptation {
  const part = Math.min(Math.exp(-slow), 1 - measured.wasted)
  const capacity = (isUsed(state, measured) ? state.limit : measured.load) * part
  const below = (slow > 0 ? BELOW_SLOW : BELOW_FAILING) * capacity
  const { load, latencyMs, error } = measured
  const isSettled = state.isFalling && hasAnswers(measured)
  const limit = state.isReturning
    ? between(below, 0.9 * state.healthy, state.limit)
    : Math.max(below, 0.5 * state.limit)
  return {
    ...state,
    ...goalAfterFall(state, part, capacity),
    ...AT_REST,
    limit: between(limit, bounds.min, bounds.max),
    capacity: Math.min(capacity, bounds.max),
    beforeFall: state.beforeFall ?? (isSettled ? { load, latencyMs, error } : undefined),
    isFalling: true,
  }
}

/** After an incident the goal is where the limit was. Otherwise it is the capacity that was shown. */
function goalAfterFall(
  state: Adaptation,
  part: number,
  capacity: number,
): Pick<Adaptation, 'goal' | 'attempts'> {
  const { goal, attempts } = state
  const asShown = { goal: capacity, attempts: 0 }
  if (state.isReturning) {
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

function grow(state: Adaptation, measured: Measured, { min, max }: Bounds): Adaptation {
  const { limit, goal, attempts } = state
  const well = { ...state, beforeFall: undefined, isFalling: false }
  if (!isUsed(state, measured)) return well
  if (isBelowGoal(state)) {
    // What was possible before an incident is reached in two steps.
    const next = attempts > 0 ? Math.max(2 * limit, goal / 2) : 2 * limit
    const reached = between(Math.min(next, 0.9 * goal), min, max)
    return { ...well, isReturning: true, healthy: limit, limit: reached, capacity: goal }
  }
  const relative = limit / state.capacity
  const pace = relative > BEYOND ? Math.min(1 + (state.pace - 1) * 2, MAX_PACE) : state.pace
  const growth = Math.abs(relative - 1) < NEAR ? NEAR_PACE : pace
  return {
    ...well,
    isReturning: false,
    healthy: limit,
    pace,
    limit: between(Math.max(limit * growth, limit + 0.1), min, max),
    goal: Math.max(goal, limit),
  }
}

const between = (value: number, least: number, most: number): number =>
  Math.min(Math.max(value, least), most)
