import { assertKnownOptions, invalidOption } from '@sluice/core/internal'
import type { Detector, Finding, FindingKind, FindingsInput } from './finding.ts'
import { abnormalUsage } from './abnormal-usage.ts'
import { nearCap } from './near-cap.ts'
import { outsizedShare } from './outsized-share.ts'
import { overBudget } from './over-budget.ts'
import { passedOver } from './passed-over.ts'
import { retryStorm } from './retry-storm.ts'
import { roundTheClock } from './round-the-clock.ts'
import { runaway } from './runaway.ts'
import { shiftedUse } from './shifted-use.ts'
import { steadyRise } from './steady-rise.ts'

const DETECTORS: Readonly<Record<FindingKind, Detector>> = {
  runaway,
  'retry-storm': retryStorm,
  'abnormal-usage': abnormalUsage,
  'round-the-clock': roundTheClock,
  'outsized-share': outsizedShare,
  'shifted-use': shiftedUse,
  'steady-rise': steadyRise,
  'over-budget': overBudget,
  'near-cap': nearCap,
  'passed-over': passedOver,
}

/**
 * Finds what somebody should look at: runaways, retry storms, scrapers, tenants that change what they use, budgets
 * that will not last the month, limits of a day that are nearly used up, and models that are asked for and never used. Each is a sentence with its evidence.
 *
 * @throws ConfigError When an option is unknown, or `hours` or `days` has other rows.
 * @example
 * const hours = await usage(limiter, { from: Date.now() - 7 * 86_400_000 })
 * for (const { text } of findings({ hours })) console.log(text)
 */
export function findings(input: FindingsInput): Finding[] {
  assertKnownOptions('findings', input, ['hours', 'days', 'by'])
  const { hours, days = { ...hours, by: 'day', rows: [], policies: [] }, by = 'tenant' } = input
  if (hours?.by !== 'hour') {
    throw invalidOption('findings.hours', 'must be usage by hour')
  }
  if (days.by !== 'day' || days.calendar) {
    throw invalidOption('findings.days', 'must be usage by day (UTC)')
  }
  return (Object.keys(DETECTORS) as FindingKind[]).flatMap((kind) =>
    Array.from(DETECTORS[kind]({ hours, days, by }), (finding) => ({ kind, ...finding })),
  )
}
