import { calendarEnd } from './calendar.ts'
import { isBucket, isSliding, sessionOf, type Rule } from './rules.ts'

/** A charge that was allowed. */
export interface Charge {
  readonly at: number
  readonly cost: number
}

/**
 * The usage of a rule by the charges of a partition, at any later moment (epoch ms), if nothing is
 * added.
 */
export interface Usage {
  /** Units in use. */
  readonly units: (at: number) => number
  /** Milliseconds that a charge would wait for its turn. */
  readonly wait: (at: number) => number
}

/** The end (epoch ms) of the calendar window that holds `now`. */
export function endOf(
  { kind, windowMs, calendar }: Pick<Rule, 'kind' | 'windowMs' | 'calendar'>,
  now: number,
): number {
  if (kind === 'calendar' && calendar) return calendarEnd(calendar, now)
  const date = new Date(now)
  if (kind === 'daily') return date.setUTCHours(24, 0, 0, 0)
  if (kind !== 'monthly') return (Math.floor(now / windowMs) + 1) * windowMs
  date.setUTCHours(0, 0, 0, 0)
  date.setUTCDate(1)
  return date.setUTCMonth(date.getUTCMonth() + 1)
}

/**
 * Each kind as one would explain it, from every charge there has ever been: sums of those in a window,
 * or, of a bucket, a replay of all of them in exact fractions.
 */
export function usageOf(rule: Rule, charges: readonly Charge[]): Usage {
  const { kind, limit, windowMs } = rule
  if (isBucket(rule) && limit === 0) return { units: none, wait: none }
  if (kind === 'session') return { units: since(rule, charges), wait: none }
  const sumOf = (counts: (charge: Charge) => boolean): number =>
    charges.filter(counts).reduce((sum, { cost }) => sum + cost, 0)
  if (kind === 'leaky') return queued(rule, charges)
  if (kind === 'token' || kind === 'interval') return { units: poured(rule, charges), wait: none }
  if (kind === 'counter') return { units: (now) => estimate(rule, sumOf, now), wait: none }
  const counts = ({ at }: Charge, now: number): boolean =>
    isSliding(rule) ? at > now - windowMs && at <= now : endOf(rule, at) === endOf(rule, now)
  return { units: (now) => sumOf((charge) => counts(charge, now)), wait: none }
}

const none = (): number => 0

/** The charges of a session: those since a first one, until there is a pause of the idle time, or the length is over. */
function since(rule: Rule, charges: readonly Charge[]): Usage['units'] {
  const [idleMs, lengthMs] = sessionOf(rule)
  let [units, first, last] = [0, -Infinity, -Infinity]
  const runsAt = (now: number): boolean => now - last < idleMs && now - first < lengthMs
  for (const { at, cost } of charges) {
    if (!runsAt(at)) [units, first] = [0, at]
    units += cost
    last = at
  }
  return (now) => (runsAt(now) ? units : 0)
}

/** The segments that are all in the window, and a part of the one before them, rounded up. */
function estimate(
  { windowMs, segments }: Rule,
  sumOf: (counts: (charge: Charge) => boolean) => number,
  now: number,
): number {
  const length = windowMs / segments
  const begin = Math.floor(now / length) * length - windowMs + length
  const inFull = sumOf(({ at }) => at >= begin && at <= now)
  const oldest = sumOf(({ at }) => at >= begin - length && at < begin)
  // How much of the oldest segment is after the beginning of the window.
  const part = begin - (now - windowMs)
  return inFull + Number(ceil(BigInt(oldest) * BigInt(part), BigInt(length)))
}

/** The running totals of the charges of a list; continues with a list that has grown. */
function replayed<State>(
  memory: WeakMap<readonly Charge[], { state: State; count: number }>,
  charges: readonly Charge[],
  first: State,
  next: (state: State, charge: Charge) => State,
): State {
  const { state, count } = memory.get(charges) ?? { state: first, count: 0 }
  const now = charges.slice(count).reduce(next, state)
  memory.set(charges, { state: now, count: charges.length })
  return now
}

interface Level {
  readonly level: bigint
  readonly at: number
}

const levels = new WeakMap<readonly Charge[], { state: Level; count: number }>()

/**
 * The units taken out of a token bucket that have not flowed in again. Levels are in units times the
 * window, so that nothing is rounded.
 */
function poured(rule: Rule, charges: readonly Charge[]): Usage['units'] {
  const { kind, limit, burst, windowMs } = rule
  const window = BigInt(windowMs)
  const full = BigInt(burst) * window
  const borders = (at: number): number => Math.floor(at / windowMs)
  const flow = (from: number, to: number): bigint =>
    kind === 'interval'
      ? BigInt(limit) * window * BigInt(borders(to) - borders(from))
      : BigInt(limit) * BigInt(to - from)
  const filled = ({ level, at }: Level, now: number): bigint => {
    const next = level + flow(at, now)
    return next < full ? next : full
  }
  const last = replayed(levels, charges, { level: full, at: 0 }, (before, { at, cost }) => ({
    level: filled(before, at) - BigInt(cost) * window,
    at,
  }))
  return (now) => Number(ceil(full - filled(last, now), window))
}

const ends = new WeakMap<readonly Charge[], { state: bigint; count: number }>()

/** A queue at a counter that serves one unit in `windowMs / limit`: when is each charge done? */
function queued({ limit, windowMs, wait }: Rule, charges: readonly Charge[]): Usage {
  // In milliseconds times the limit.
  const done = replayed(ends, charges, 0n, (before, { at, cost }) => {
    const arrival = BigInt(at) * BigInt(limit)
    return (before > arrival ? before : arrival) + BigInt(cost) * BigInt(windowMs)
  })
  const ahead = (now: number): bigint => {
    const left = done - BigInt(now) * BigInt(limit)
    return left > 0n ? left : 0n
  }
  return {
    units: (now) => Number(ceil(ahead(now), BigInt(windowMs))),
    wait: (now) => (wait === false ? 0 : Number(ceil(ahead(now), BigInt(limit)))),
  }
}

const ceil = (amount: bigint, by: bigint): bigint => (amount + by - 1n) / by

/** The first moment from `from` on at which `holds` is true, as it is at all later ones. */
export function firstMoment(from: number, holds: (at: number) => boolean): number {
  let step = 1
  while (!holds(from + step)) step *= 2
  let [low, high] = [from, from + step]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
