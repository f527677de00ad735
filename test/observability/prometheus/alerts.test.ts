import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ALERTS, promtool, PROMETHEUS } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'alerts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const HOUR = 60
const WEEK = 7 * 24 * HOUR

/** A week to compare with, and the hour of an incident; by the minute. */
const MINUTES = WEEK + HOUR

/** The traffic of one minute. Errors are decisions that failed in the store; slow ones took longer than 100 ms. */
interface Minute {
  readonly decisions: number
  readonly denied: number
  readonly errors: number
  readonly slow: number
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
    slow: Math.round(decisions * 0.04 * noise(minute + 2)),
    budgetUsed: (minute % (30 * 24 * HOUR)) / (30 * 24 * HOUR),
  }
}

/** What a service reports in the minutes of the last hour; `undefined` if its endpoint is gone. */
type Incident = (minute: Minute, index: number) => Minute | undefined

/** A service that is as ordinary as it can be, and beside which another one's incident is small. */
const LARGE = 'large'
const SMALL = 'small'

/** The series that Prometheus would have scraped of a service, with an incident in the last hour. */
function seriesOf(job: string, size: number, incident: Incident, minutesInAll = MINUTES): object[] {
  const scaled = (minute: Minute): Minute => ({
    ...minute,
    decisions: Math.round(minute.decisions * size),
    denied: Math.round(minute.denied * size),
    slow: Math.round(minute.slow * size),
  })
  const begin = minutesInAll - HOUR
  const minutes = Array.from({ length: minutesInAll }, (_, minute) => {
    const usualMinute = scaled(normal(minute))
    return minute < begin ? usualMinute : incident(usualMinute, minute - begin)
  })
  const counter = (series: string, valueOf: (minute: Minute) => number): object => {
    let sum = 0
    const values = minutes.map((minute) => (minute ? (sum += valueOf(minute)) : '_'))
    return { series, values: values.join(' ') }
  }
  const decisions = `rate_limiter_decisions_total{job="${job}",`
  const store = `{job="${job}",rate_limiter_store_call="check"`
  const duration = 'rate_limiter_store_duration_seconds'
  const gauge = `rate_limiter_budget_used_ratio{job="${job}",rate_limiter_policy="month"}`
  return [
    counter(
      `${decisions}rate_limiter_outcome="allowed"}`,
      (minute) => minute.decisions - minute.denied - minute.errors,
    ),
    counter(
      `${decisions}rate_limiter_outcome="denied",rate_limiter_policy="rpm"}`,
      ({ denied }) => denied,
    ),
    counter(
      `${decisions}rate_limiter_outcome="allowed",rate_limiter_degraded_mode="local"}`,
      ({ errors }) => errors,
    ),
    counter(`${duration}_count${store}}`, (minute) => minute.decisions - minute.errors),
    counter(
      `${duration}_bucket${store},le="0.1"}`,
      (minute) => minute.decisions - minute.errors - minute.slow,
    ),
    counter(`${duration}_count${store},error_type="store_timeout"}`, ({ errors }) => errors),
    counter(`${duration}_bucket${store},error_type="store_timeout",le="0.1"}`, () => 0),
    { series: gauge, values: minutes.map((minute) => minute?.budgetUsed ?? '_').join(' ') },
    {
      series: `up{job="${job}",instance="a"}`,
      values: minutes.map((minute) => (minute ? 1 : 0)).join(' '),
    },
  ]
}

/** The query for what has fired in this many minutes, and the alerts that it must find, for one service. */
function fired(
  minutes: number,
  alerts: readonly string[],
  { job = SMALL, at = MINUTES - 1 } = {},
): object {
  // Each alert once, however often and for whatever it fired.
  const expr = `count by (alertname, job) (count_over_time(ALERTS{alertstate="firing"}[${minutes}m]))`
  const samples = alerts.map((alertname) => ({
    labels: job ? `{alertname="${alertname}",job="${job}"}` : `{alertname="${alertname}"}`,
    value: 1,
  }))
  return { expr, eval_time: `${at}m`, exp_samples: samples }
}

/** Returns what promtool says to an expectation, and if it holds. */
function testRules(series: readonly object[], expectation: object): ReturnType<typeof promtool> {
  const file = join(folder, 'test.json')
  const test = { interval: '1m', input_series: series, promql_expr_test: [expectation] }
  const content = { rule_files: [ALERTS], evaluation_interval: '5m', tests: [test] }
  writeFileSync(file, JSON.stringify(content))
  return promtool('test', 'rules', file)
}

const usual: Incident = (minute) => minute

/** A tenth of the ordinary traffic, in a service beside a large one. */
const besideLarge = (incident: Incident): object[] => [
  ...seriesOf(LARGE, 10, usual),
  ...seriesOf(SMALL, 0.1, incident),
]

/** Incidents of a small service, and the alerts that they raise for it. */
const INCIDENTS: readonly [name: string, alerts: readonly string[], incident: Incident][] = [
  [
    'a misbehaving client',
    ['SluiceBlockRateHigh'],
    (minute) => ({ ...minute, denied: Math.round(minute.decisions * 0.3) }),
  ],
  [
    'a Redis that is down',
    ['SluiceDegraded', 'SluiceStoreFailing'],
    (minute) => ({ ...minute, denied: 0, slow: 0, errors: minute.decisions }),
  ],
  [
    'a Redis that now and then times out',
    ['SluiceDegraded'],
    (minute, index) => ({ ...minute, errors: index % 6 === 0 ? 1 : 0 }),
  ],
  [
    'a Redis that is slow',
    ['SluiceStoreSlow'],
    (minute) => ({ ...minute, slow: Math.round(minute.decisions * 0.3) }),
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
  ['an endpoint that is gone', ['SluiceMetricsMissing'], () => undefined],
]

/** What a service with hardly a request an hour reports, whatever share of it is bad. */
const FEW: readonly Incident[] = [
  (minute) => ({ ...minute, denied: 1 }),
  (minute) => ({ ...minute, errors: 1 }),
  (minute) => ({ ...minute, slow: 2 }),
  (minute) => minute,
  (minute) => ({ ...minute, budgetUsed: 1 }),
]

/** The rules of the file: the text of each, by its name. */
const RULES = new Map(
  readFileSync(ALERTS, 'utf8')
    .split('- alert: ')
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
)

describe('each alert rule', () => {
  const page = readFileSync(new URL('../../../docs/operate/alerts.md', import.meta.url), 'utf8')
  const overview = readFileSync(new URL('../../../docs/observability.md', import.meta.url), 'utf8')

  it('has an incident that raises it', () => {
    const raised = new Set(INCIDENTS.flatMap(([, alerts]) => alerts))
    expect(new Set(RULES.keys())).toEqual(raised)
  })

  it.each([...RULES])(
    '%s is by service, and leads to a section that says what to do',
    (name, rule) => {
      expect(rule).not.toMatch(/\b(sum|count|avg|max|group) ?\(/)
      expect(rule).toContain('$labels.job')
      expect(rule).toContain(`runbook: 'docs/operate/alerts.md#${name.toLowerCase()}'`)
      const section = page.split('\n## ').find((text) => text.startsWith(`${name}\n`)) ?? ''
      expect(section).toMatch(/\*\*Look at\*\*[^]+\*\*Do\*\*/)
      expect(overview).toContain(`[\`${name}\`](operate/alerts.md#${name.toLowerCase()})`)
    },
  )
})

describe.skipIf(!PROMETHEUS)('the alert rules', () => {
  it('are accepted by promtool', () => {
    expect(promtool('check', 'rules', ALERTS)).toMatchObject({ status: 0 })
  })

  it('do not fire in two ordinary weeks', () => {
    const all = 2 * WEEK
    const series = [...seriesOf(LARGE, 10, usual, all), ...seriesOf(SMALL, 0.1, usual, all)]
    expect(testRules(series, fired(all, [], { at: all - 1 }))).toMatchObject({ status: 0 })
  })

  it.each(INCIDENTS)(
    'fire for %s of a small service beside a large one, and for nothing else',
    (_, alerts, incident) => {
      expect(testRules(besideLarge(incident), fired(HOUR, alerts))).toMatchObject({ status: 0 })
    },
  )

  it(`do not fire for a few requests, whatever share of them is bad`, () => {
    const series = FEW.flatMap((incident, number) => {
      const few: Incident = (minute, index) => {
        const none = { ...minute, decisions: 0, denied: 0, errors: 0, slow: 0 }
        return index % 20 === 0 ? incident({ ...none, decisions: 2 }, index) : none
      }
      return seriesOf(`few-${number}`, 0.001, few)
    })
    expect(testRules(series, fired(HOUR, []))).toMatchObject({ status: 0 })
  })

  it('fire for a service of its own that is gone, and for no endpoint that has counted nothing yet', () => {
    const alone = seriesOf(SMALL, 1, () => undefined)
    expect(testRules(alone, fired(HOUR, ['SluiceMetricsMissing']))).toMatchObject({ status: 0 })
    const restarted = alone.map((one) =>
      (one as { series: string }).series.startsWith('up{')
        ? { series: `up{job="${SMALL}",instance="a"}`, values: `1x${MINUTES}` }
        : one,
    )
    expect(testRules(restarted, fired(HOUR, []))).toMatchObject({ status: 0 })
    // Of nothing that ever reported, there is no service to name.
    const nothing = [{ series: 'up{job="other"}', values: `1x${MINUTES}` }]
    const missing = fired(HOUR, ['SluiceMetricsMissing'], { job: '' })
    expect(testRules(nothing, missing)).toMatchObject({ status: 0 })
  })
})
