import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ALERTS, promtool, PROMETHEUS } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'alerts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const HOUR = 60
const WEEK = 7 * 24 * HOUR

/** A week to compare with, another one, and an hour; by the minute. */
const MINUTES = 2 * WEEK + HOUR

/** The traffic of one minute. Errors are decisions that failed in the store. */
interface Minute {
  readonly decisions: number
  readonly denied: number
  readonly errors: number
  readonly budgetUsed: number
}

/** A number from 0 to 1 that depends on `minute` alone. */
const noise = (minute: number): number => ((minute * 7_919) % 1_009) / 1_009

/** A minute of an ordinary week: days and nights, some denials, an error of the store now and then. */
function normal(minute: number): Minute {
  const day = Math.sin((2 * Math.PI * minute) / (24 * HOUR))
  const decisions = Math.round(600 * (1 + 0.6 * day) * (0.8 + 0.4 * noise(minute)))
  return {
    decisions,
    denied: Math.round(decisions * 0.03 * noise(minute + 1)),
    errors: minute % (5 * HOUR) === 0 ? 1 : 0,
    budgetUsed: (minute % (30 * 24 * HOUR)) / (30 * 24 * HOUR),
  }
}

/** The series that Prometheus would have scraped, with an incident in the last hour. */
function seriesOf(incident: (minute: Minute) => Minute): object[] {
  const minutes = Array.from({ length: MINUTES }, (_, minute) =>
    minute < 2 * WEEK ? normal(minute) : incident(normal(minute)),
  )
  const counter = (series: string, valueOf: (minute: Minute) => number): object => {
    let sum = 0
    const values = minutes.map((minute) => (sum += valueOf(minute)))
    return { series, values: values.join(' ') }
  }
  const decisions = 'rate_limiter_decisions_total'
  const store = 'rate_limiter_store_duration_seconds_count{rate_limiter_store_call="check"'
  const gauge = 'rate_limiter_budget_used_ratio{rate_limiter_policy="month"}'
  return [
    counter(
      `${decisions}{rate_limiter_outcome="allowed"}`,
      (minute) => minute.decisions - minute.denied - minute.errors,
    ),
    counter(
      `${decisions}{rate_limiter_outcome="denied",rate_limiter_policy="rpm"}`,
      ({ denied }) => denied,
    ),
    counter(
      `${decisions}{rate_limiter_outcome="allowed",rate_limiter_degraded_mode="local"}`,
      ({ errors }) => errors,
    ),
    counter(`${store}}`, (minute) => minute.decisions - minute.errors),
    counter(`${store},error_type="store_timeout"}`, ({ errors }) => errors),
    { series: gauge, values: minutes.map(({ budgetUsed }) => budgetUsed).join(' ') },
  ]
}

/** The query for what has fired in this many minutes, and the alerts that it must find. */
function fired(minutes: number, alerts: readonly string[]): object {
  // Each alert once, however often and for whatever it fired.
  const expr = `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${minutes}m]))`
  const samples = alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 }))
  return { expr, eval_time: `${MINUTES - 1}m`, exp_samples: samples }
}

/** Returns what promtool says to an expectation, and if it holds. */
function testRules(
  incident: (minute: Minute) => Minute,
  expectation: object,
): ReturnType<typeof promtool> {
  const file = join(folder, 'test.json')
  const test = {
    interval: '1m',
    input_series: seriesOf(incident),
    promql_expr_test: [expectation],
  }
  const content = { rule_files: [ALERTS], evaluation_interval: '5m', tests: [test] }
  writeFileSync(file, JSON.stringify(content))
  return promtool('test', 'rules', file)
}

describe.skipIf(!PROMETHEUS)('the alert rules', () => {
  it('are accepted by promtool', () => {
    expect(promtool('check', 'rules', ALERTS)).toMatchObject({ status: 0 })
  })

  it('do not fire in two ordinary weeks', () => {
    expect(testRules((minute) => minute, fired(MINUTES, []))).toMatchObject({ status: 0 })
  })

  it.each<[name: string, alerts: string[], incident: (minute: Minute) => Minute]>([
    [
      'a misbehaving client',
      ['SluiceBlockRateHigh'],
      (minute) => ({ ...minute, denied: Math.round(minute.decisions * 0.3) }),
    ],
    [
      'a Redis that is down',
      ['SluiceDegraded', 'SluiceStoreFailing'],
      (minute) => ({ ...minute, denied: 0, errors: minute.decisions }),
    ],
    [
      'a Redis that now and then times out',
      ['SluiceDegraded'],
      (minute) => ({ ...minute, errors: 1 }),
    ],
    [
      'an agent in a loop',
      ['SluiceUnusualTraffic'],
      (minute) => ({ ...minute, decisions: minute.decisions * 5 }),
    ],
    [
      'a budget that is nearly spent',
      ['SluiceBudgetAlmostUsed'],
      (minute) => ({ ...minute, budgetUsed: 0.97 }),
    ],
  ])('fire for %s, and for nothing else', (_, alerts, incident) => {
    expect(testRules(incident, fired(HOUR, alerts))).toMatchObject({ status: 0 })
  })
})
