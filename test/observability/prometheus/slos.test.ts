import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLimiter, listen, monthlyCap, StoreError, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { afterAll, describe, expect, it } from 'vitest'
import { ALERTS, promtool, PROMETHEUS } from './support.ts'

const page = readFileSync(new URL('../../../docs/operate/slos.md', import.meta.url), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'slos-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The queries of the page, by their headings. */
const QUERIES = new Map(
  page
    .split('\n## ')
    .map((section) => [
      section.slice(0, section.indexOf('\n')),
      /```promql\n([^]*?)```/.exec(section)?.[1] ?? '',
    ])
    .filter(([, query]) => query !== '') as [string, string][],
)

/** The counts of two services each hour: one has failures, the other none. */
const HOURLY: Readonly<Record<string, number>> = {
  'decisions_total{job="a",rate_limiter_outcome="allowed"}': 900,
  'decisions_total{job="a",rate_limiter_outcome="denied",rate_limiter_policy="rpm"}': 60,
  'decisions_total{job="a",rate_limiter_outcome="allowed",rate_limiter_degraded_mode="local"}': 30,
  'decisions_total{job="a",rate_limiter_outcome="denied",rate_limiter_degraded_mode="deny"}': 10,
  'store_duration_seconds_bucket{job="a",rate_limiter_store_call="check",le="0.1"}': 950,
  'store_duration_seconds_count{job="a",rate_limiter_store_call="check"}': 960,
  'store_duration_seconds_count{job="a",rate_limiter_store_call="check",error_type="store_timeout"}': 40,
  'store_duration_seconds_count{job="a",rate_limiter_store_call="run"}': 500,
  'decisions_total{job="b",rate_limiter_outcome="allowed"}': 7,
  'store_duration_seconds_bucket{job="b",rate_limiter_store_call="check",le="0.1"}': 7,
  'store_duration_seconds_count{job="b",rate_limiter_store_call="check"}': 7,
}
/** The percentage that the first has reached of each objective. */
const EXPECTED: Readonly<Record<string, number>> = {
  'Decided by the store': 96,
  Fast: 95,
  'Nobody refused for our faults': 99,
}

it('the page has a query for each objective, and an alert that there is', () => {
  expect([...QUERIES.keys()]).toEqual(Object.keys(EXPECTED))
  const rules = readFileSync(ALERTS, 'utf8')
  for (const section of page.split('\n## ').slice(1)) {
    const [, alert] = /`(Sluice\w+)`/.exec(section) ?? []
    expect(rules).toContain(`alert: ${alert}\n`)
  }
})

describe.skipIf(!PROMETHEUS)('the query of an objective', () => {
  it.each([...QUERIES])('gives the share of good decisions of each service: %s', (name, expr) => {
    const hours = 31 * 24
    const series = Object.entries(HOURLY).map(([selector, hourly]) => ({
      series: `rate_limiter_${selector}`,
      values: `0+${hourly}x${hours}`,
    }))
    const samples = [
      { labels: '{job="a"}', value: EXPECTED[name] },
      { labels: '{job="b"}', value: 100 },
    ]
    const percent = `round(100 * (${expr}))`
    const test = {
      interval: '1h',
      input_series: series,
      promql_expr_test: [{ expr: percent, eval_time: `${hours}h`, exp_samples: samples }],
    }
    const file = join(folder, 'test.json')
    writeFileSync(file, JSON.stringify({ evaluation_interval: '1d', tests: [test] }))
    expect(promtool('test', 'rules', file)).toEqual({ status: 0, output: expect.any(String) })
  })
})

it('the queries ask for series that a limiter reports', async () => {
  const store = memory()
  let isDown = false
  const failing: Store = {
    ...store,
    check: (request) =>
      isDown ? Promise.reject(new StoreError('store_timeout', 'slow')) : store.check(request),
  }
  const limiter = createLimiter({
    store: failing,
    policies: [monthlyCap({ name: 'budget', limit: 9, unit: 'usd', per: ['tenant'] })],
    extensions: [prometheus(), listen({ problem: () => {} })],
  })
  for (isDown of [false, true]) await limiter.check({ tenant: 'acme' }, { cost: { usd: 1 } })
  const lines = (await metricsText(limiter)).split('\n')
  const queries = [...QUERIES.values()].join('\n')
  const selectors = [...queries.matchAll(/(rate_limiter_\w+)(?:\{(.*?)\})?\[/g)]
  expect(selectors.length).toBeGreaterThan(6)
  for (const [, metric = '', labels = ''] of selectors) {
    // A label that must be empty is one that a series does not have.
    const matchers = labels.split(',').filter((label) => label !== '' && !label.endsWith('=""'))
    const found = lines.filter(
      (line) => line.startsWith(metric) && matchers.every((label) => line.includes(label)),
    )
    expect({ metric, labels, found: found.length > 0 }).toMatchObject({ found: true })
  }
})
