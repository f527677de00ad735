import type { PolicyRule, PolicyState } from '@sluice/core'
import { durationText, unitsText } from '@sluice/core/internal/text'
import { meterOf } from '../bounds/meter.ts'
import type { SubjectLimits } from './subjects.ts'

/** Returns a sentence if another policy always denies before a policy can. */
export function judgeOrder(
  rule: PolicyRule,
  rules: readonly PolicyRule[],
  limits: readonly SubjectLimits[],
): string | undefined {
  for (const other of rules) {
    if (other === rule || !covers(other, rule)) continue
    const pairs = limits.flatMap(({ policies }) => pairOf(policies, rule, other) ?? [])
    if (pairs.length > 0 && pairs.every(([own, first]) => isAhead(other, first, rule, own))) {
      return textOf(rule, other, pairs[0] as Pair)
    }
  }
  return undefined
}

type Pair = readonly [own: PolicyState, first: PolicyState]

/** Returns true if every call that `rule` counts in one partition is counted by `other` in one, too. */
const covers = (other: PolicyRule, rule: PolicyRule): boolean =>
  other.unit === rule.unit &&
  (other.routes === undefined || other.routes.join() === rule.routes?.join()) &&
  (other.per === 'global' ||
    (rule.per !== 'global' && other.per.every((one) => rule.per.includes(one as never))))

/** Returns the states of both, or nothing if only one of them takes part. */
function pairOf(
  policies: readonly PolicyState[],
  rule: PolicyRule,
  other: PolicyRule,
): [Pair] | undefined {
  const [own, first] = [rule, other].map(({ name }) =>
    policies.find((state) => state.name === name && state.enforced),
  )
  return own && first ? [[own, first]] : undefined
}

/** Returns true if `other` cannot allow more than `rule` within a window of `rule`. */
function isAhead(
  other: PolicyRule,
  { limit, burst, windowMs }: PolicyState,
  rule: PolicyRule,
  own: PolicyState,
): boolean {
  // Charges may prolong a session for ever, if it has no length.
  if (rule.algorithm.traits?.endsTogether && !meterOf(rule)) return false
  // The span that touches the most windows of a grid begins at the end of one. Of a longer one, that is rare.
  const start = windowMs > rule.windowMs ? 0 : windowMs - 1
  const most = meterOf(other)?.most({ start, end: start + rule.windowMs }, limit, burst) ?? Infinity
  // Of two that allow the same, the one that counts longer is ahead.
  return most < own.burst || (most === own.burst && windowMs > own.windowMs)
}

function textOf(rule: PolicyRule, other: PolicyRule, [own, first]: Pair): string {
  const [ownText, firstText] = [own, first].map(
    ({ limit, unit, windowMs }) => `${unitsText(limit, unit)} in ${durationText(windowMs)}`,
  )
  const remedy =
    first.windowMs > own.windowMs ? `raise ${other.name}` : `lower ${rule.name}, or remove it`
  return `${rule.name} (${ownText}) has no effect, because ${other.name} (${firstText}) denies first: ${remedy}.`
}
