import { invalidOption } from '@sluice/core/internal'
import type { PolicyState } from '@sluice/core'
import type { CallSum } from '../call.ts'
import type { PolicySet } from '../simulation/policy-set.ts'
import { entryOf } from '../groups.ts'
import { createTwin } from '../simulation/twin.ts'
import { Change, type DenialBounds } from './change.ts'
import { meterOf } from './meter.ts'
import { Partition, type Row, type Share } from './partition.ts'
import { Period } from './period.ts'

/** The calls that a change of settings denies and allows, in any order within their periods. */
export interface ChangeBounds {
  /** Calls that only the new settings deny. */
  readonly newlyDenied: DenialBounds
  /** Calls that only the old settings deny. */
  readonly nowAllowed: DenialBounds
}

/**
 * Bounds what a change of settings denies of calls whose times are known to an hour or a day only. The bounds hold
 * for every order of the calls, and every division of a row's tokens and dollars among its calls.
 *
 * @param sums In the order of their periods, as `sums` of a usage export reads them.
 * @param periodMs The time that each row covers, in milliseconds.
 * @param sets The policies with the old settings, and the same policies with the new ones.
 * @throws ConfigError When the policies differ, periods overlap, or the log lacks a dimension.
 * @example
 * const log = await openLog('usage.csv')
 * if (log.sums) console.log(await boundDenials(log.sums(), 3_600_000, [before, after]))
 */
export async function boundDenials(
  sums: AsyncIterable<CallSum>,
  periodMs: number,
  sets: readonly [before: PolicySet, after: PolicySet],
): Promise<ChangeBounds> {
  const sharesOf = createShares(sets)
  const [newlyDenied, nowAllowed] = [new Change(0, 1), new Change(1, 0)]
  let start = -Infinity
  let rows: Row[] = []

  function endOfPeriod(): void {
    if (rows.length === 0) return
    const period = new Period({ start, end: start + periodMs }, rows)
    newlyDenied.add(period)
    nowAllowed.add(period)
    period.end()
    rows = []
  }

  for await (const sum of sums) {
    if (sum.at !== start) {
      endOfPeriod()
      if (sum.at < start + periodMs) {
        const message = `must be the time that each row covers: line ${sum.line} begins before the row above ends`
        throw invalidOption('usagePeriod', message)
      }
      start = sum.at
    }
    if (sum.calls > 0) rows.push({ sum, shares: await sharesOf(sum) })
  }
  endOfPeriod()
  return { newlyDenied: newlyDenied.read(), nowAllowed: nowAllowed.read() }
}

/** Creates a function that returns the partitions of a row, with its limits in each set. */
function createShares(
  sets: readonly [PolicySet, PolicySet],
): (sum: CallSum) => Promise<readonly Share[]> {
  const [{ rules }, other] = sets
  if (rules.map(({ name }) => name).join() !== other.rules.map(({ name }) => name).join()) {
    throw invalidOption('sets', 'must have the same policies, with different settings')
  }
  const twins = sets.map((set) => createTwin(set.rules, set.plans, set.configuration))
  const meters = new Map(rules.map((rule) => [rule, meterOf(rule)]))
  const partitions = new Map<string, Partition>()

  return async (sum) => {
    // Limits do not depend on the cost, and nothing is charged.
    const units = Object.fromEntries(
      rules.map(({ unit }) => [unit, sum.units[unit] === undefined ? undefined : 0]),
    )
    const call = { ...sum, units: units as Record<string, number> }
    const [before, after] = await Promise.all(
      twins.map(async (twin) => statesOf((await twin.peek(call, 0)).policies)),
    )
    return rules.flatMap((rule): Share[] => {
      const limits = [before?.get(rule.name), after?.get(rule.name)] as const
      if (limits.every((limit) => limit === undefined)) return []
      const { subject } = sum
      const per = rule.per === 'global' ? [] : rule.per
      const key = [
        rule.name,
        ...per.map((one) => (subject as Readonly<Record<string, string | undefined>>)[one]),
      ].join('\n')
      const tenant = per.includes('tenant') ? subject.tenant : undefined
      const create = () => new Partition(rule, meters.get(rule), tenant)
      return [{ partition: entryOf(partitions, key, create), limits }]
    })
  }
}

const statesOf = (policies: readonly PolicyState[]): Map<string, PolicyState> =>
  new Map(policies.map((state) => [state.name, state]))
