/*
 * Finds windows with more units than their limit, from the log of decisions alone: no code of the limiter.
 *
 * A unit counts from a moment between `from` and `to`, and the log does not always say which. So a window
 * holds a unit only if both are within it: what is found is a violation beyond doubt.
 */
import type { LoggedDecision, LoggedReset } from './log.ts'

/** A limit to check. */
export interface Rule {
  readonly name: string
  readonly windowMs: number
  /** True if its windows lie on a grid that begins at the epoch. */
  readonly isAligned: boolean
  /** True if it counts all tenants together. */
  readonly isGlobal: boolean
  /** The time that leases last, 0 if there are none. */
  readonly leaseMs: number
  /**
   * True if a request carries the time, and Redis decides at it: a request that arrives late is decided
   * later than it says, and so is one that waited for a block. @default the time is that of Redis
   */
  readonly isCallersTime?: boolean
  /** The route that it applies to. @default all */
  readonly route?: string
  readonly limitOf: (decision: LoggedDecision) => number
}

interface Unit {
  readonly from: number
  readonly to: number
  readonly units: number
  readonly limit: number
}

/** The outcome of a check: the fullest window by its share of its limit, and each that is too full. */
export interface Findings {
  readonly fullest: number
  readonly violations: readonly string[]
}

export function check(
  rule: Rule,
  log: readonly LoggedDecision[],
  resets: readonly LoggedReset[],
): Findings {
  const violations: string[] = []
  let fullest = 0
  for (const [partition, decisions] of partitionsOf(rule, log)) {
    for (const units of epochsOf(
      rule,
      decisions,
      rule.isGlobal ? [] : resetsOf(partition, resets),
    )) {
      for (const { used, limit, end } of rule.isAligned
        ? gridOf(rule, units)
        : trailing(rule, units)) {
        fullest = Math.max(fullest, used / limit)
        if (used > limit)
          violations.push(`${rule.name} ${partition} at ${end}: ${used} of ${limit}`)
      }
    }
  }
  return { fullest, violations }
}

function partitionsOf({ isGlobal, route }: Rule, log: readonly LoggedDecision[]) {
  const counted = log.filter((one) => one.allowed && (route ?? one.route) === one.route)
  return groupBy(counted, ({ tenant }) => (isGlobal ? 'all' : tenant))
}

const resetsOf = (tenant: string, resets: readonly LoggedReset[]): LoggedReset[] =>
  resets.filter((one) => one.tenant === tenant).toSorted((a, b) => a.before - b.before)

/** Returns the units between two resets, for each pair. Those of leases older than the reset are its own. */
function epochsOf(
  { leaseMs, limitOf, isCallersTime }: Rule,
  decisions: readonly LoggedDecision[],
  resets: readonly LoggedReset[],
): Unit[][] {
  const begins = [-Infinity, ...resets.map(({ after }) => after)]
  const ends = [...resets.map(({ before }) => before), Infinity]
  return begins.map((begin, index) => {
    const end = ends[index] ?? Infinity
    return decisions
      .map((one) => ({
        // A decision that called the store may have been charged there, or before in a lease.
        from: one.isLeased || leaseMs === 0 ? one.at : one.before,
        // A block was back before it served: Redis had decided about it by then.
        to: isCallersTime ? one.after : one.at,
        units: one.units,
        limit: limitOf(one),
        isOlder: leaseMs > 0 && one.before <= begin + leaseMs,
      }))
      .filter(({ from, to, isOlder }) => from > begin && to < end && !isOlder)
  })
}

interface FullWindow {
  readonly used: number
  readonly limit: number
  readonly end: number
}

/** Returns the window that ends with each unit. Its limit is the largest that applied to a unit in it. */
function* trailing({ windowMs }: Rule, all: readonly Unit[]): Generator<FullWindow> {
  // A decision that took as long as a window is within none beyond doubt.
  const units = all.filter(({ from, to }) => to - from < windowMs)
  const entering = units.toSorted((a, b) => a.to - b.to)
  const leaving = units.toSorted((a, b) => a.from - b.from)
  const limits = new Map<number, number>()
  let used = 0
  let next = 0
  const move = ({ units: count, limit }: Unit, sign: 1 | -1): void => {
    used += sign * count
    limits.set(limit, (limits.get(limit) ?? 0) + sign)
  }
  for (const unit of entering) {
    move(unit, 1)
    for (;;) {
      const first = leaving[next]
      if (first === undefined || first.from > unit.to - windowMs) break
      move(first, -1)
      next += 1
    }
    yield { used, limit: largest(limits), end: unit.to }
  }
}

function* gridOf({ windowMs }: Rule, units: readonly Unit[]): Generator<FullWindow> {
  const windowOf = (time: number): number => Math.floor(time / windowMs)
  const inside = units.filter(({ from, to }) => windowOf(from) === windowOf(to))
  for (const [index, those] of groupBy(inside, ({ to }) => windowOf(to))) {
    const used = those.reduce((sum, { units: count }) => sum + count, 0)
    const limit = those.reduce((most, one) => Math.max(most, one.limit), 0)
    yield { used, limit, end: (index + 1) * windowMs }
  }
}

function largest(limits: ReadonlyMap<number, number>): number {
  let most = 0
  for (const [limit, count] of limits) if (count > 0 && limit > most) most = limit
  return most
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
