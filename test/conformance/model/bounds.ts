import { isBucket, isSliding, type Rule } from './rules.ts'
import { endOf, usageOf, type Charge } from './usage.ts'

/**
 * The most that a partition with these charges has held of what the rule lets it hold, as a share: of
 * sliding and fixed windows the units in a window, and of a session those in it; of a counter the units in a window less a segment,
 * and in a window, of which it may hold a segment's more; of buckets the units in any stretch of time,
 * of which it may hold what flows in meanwhile more than the burst.
 *
 * `shorterMs` is taken off a sliding window's length, for clocks that differ.
 */
export function mostHeld(rule: Rule, charges: readonly Charge[], shorterMs = 0): number {
  // A shadow of a log is charged what one of its windows fits, though another does not.
  if (rule.log !== undefined && !rule.enforced) return 0
  const { kind, limit, windowMs, segments } = rule
  if (limit === 0) return charges.length > 0 ? Infinity : 0
  const held = (last: Charge, counts: (charge: Charge, index: number) => boolean): number =>
    charges
      .filter((charge, index) => charge.at <= last.at && counts(charge, index))
      .reduce((sum, { cost }) => sum + cost, 0)
  const upTo = (last: Charge): Charge[] => charges.slice(0, charges.lastIndexOf(last) + 1)
  const within = (last: Charge, lengthMs: number): number =>
    held(last, ({ at }) => at > last.at - lengthMs)
  const share = (last: Charge): number => {
    if (isBucket(rule)) return fullest(rule, charges, last)
    if (kind === 'session') return usageOf(rule, upTo(last)).units(last.at) / limit
    if (isSliding(rule)) return within(last, windowMs - shorterMs) / limit
    if (kind !== 'counter') {
      return held(last, ({ at }) => endOf(rule, at) === endOf(rule, last.at)) / limit
    }
    const length = windowMs / segments
    const inSegment = Math.max(
      ...charges.map(({ at }) =>
        charges
          .filter((other) => Math.floor(other.at / length) === Math.floor(at / length))
          .reduce((sum, { cost }) => sum + cost, 0),
      ),
    )
    return Math.max(
      within(last, windowMs - length) / limit,
      within(last, windowMs) / (limit + inSegment),
      within(last, windowMs) / (2 * limit),
    )
  }
  return Math.max(0, ...charges.map(share))
}

/** Of all stretches that end with `last`, the share of burst and flow that was used. */
function fullest(rule: Rule, charges: readonly Charge[], last: Charge): number {
  const { kind, limit, burst, windowMs } = rule
  const borders = (at: number): number => Math.floor(at / windowMs)
  const flow = (from: number): number =>
    kind === 'interval'
      ? limit * (borders(last.at) - borders(from))
      : (limit * (last.at - from)) / windowMs
  let [units, most] = [0, 0]
  for (let index = charges.lastIndexOf(last); index >= 0; index -= 1) {
    const { at, cost } = charges[index] as Charge
    units += cost
    most = Math.max(most, units / (burst + Math.floor(flow(at))))
  }
  return most
}
