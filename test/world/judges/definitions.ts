/*
 * The promises of each kind of policy, written from the docs and naively: a judge keeps every charge and adds up
 * those that count. No code of the product is used.
 */
import { Balance } from './balances.ts'
import { Bucket } from './bucket.ts'
import type { Count } from './count.ts'
import { Period } from './periods.ts'
import { isBucket, type Rule } from './rules.ts'
import { Session, Slots } from './sessions.ts'
import { Grid, Log, Segments } from './windows.ts'

export type { Charged, Count } from './count.ts'

/** Returns true if a cost fits, by the definition of the policy. */
export function fits(
  rule: Rule,
  count: Count,
  { cost, limit, burst }: { cost: number; limit: number; burst: number },
  now: number,
): boolean {
  if (cost === 0) return true
  if (count instanceof Balance) return cost <= count.leftAt(now)
  const most = isBucket(rule) ? burst : limit
  return cost <= most && count.used(rule, now) + cost <= most && count.turnMs(now) <= rule.waitMs
}

/** A line counts no units, and shares are judged by themselves. */
const NOTHING: Count = {
  used: () => 0,
  turnMs: () => 0,
  charge: () => {},
  correct: () => 0,
  copy: () => NOTHING,
}

/** Creates the count of a key on which nothing was charged. */
export function emptyCount(rule: Rule, key = ''): Count {
  if (rule.kind === 'daily' && rule.leaseMs === 0) return new Period(rule, key)
  switch (rule.kind) {
    case 'sliding':
    case 'log':
      return new Log(rule)
    case 'fixed':
    case 'daily':
    case 'monthly':
      return new Grid(rule)
    case 'counter':
      return new Segments(rule)
    case 'session':
      return new Session(rule)
    case 'slots':
      return new Slots(rule)
    case 'credits':
      return new Balance()
    case 'line':
    case 'share':
      return NOTHING
    case 'token':
    case 'interval':
    case 'leaky':
    default:
      return new Bucket(rule)
  }
}
