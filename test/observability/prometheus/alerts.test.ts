import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { FEW, INCIDENTS } from './incidents.ts'
import { DAY, HOUR, MINUTES, QUIET, seriesOf, type Incident } from './simulated.ts'
import { ALERTS, promtool, PROMETHEUS } from './support.ts'

const folder = mkdtempSync(join(tmpdir(), 'alerts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The query for what has fired for a service in so many minutes, and the alerts that it must find. */
function fired(
  job: string,
  alerts: readonly string[],
  { minutes = HOUR, at = MINUTES - 1 } = {},
): object {
  // Each alert once, however often and for whatever it fired.
  const firing = `ALERTS{alertstate="firing",job="${job}"}[${minutes}m]`
  const samples = alerts.map((alertname) => ({
    labels: job ? `{alertname="${alertname}",job="${job}"}` : `{alertname="${alertname}"}`,
    value: 1,
  }))
  return {
    expr: `count by (alertname, job) (count_over_time(${firing}))`,
    eval_time: `${at}m`,
    exp_samples: samples,
  }
}

/** Returns what promtool says to expectations, and if they hold. */
function testRules(
  series: readonly object[],
  expectations: readonly object[],
): ReturnType<typeof promtool> {
  const file = join(folder, 'test.json')
  const test = { interval: '1m', input_series: series, promql_expr_test: expectations }
  const content = { rule_files: [ALERTS], evaluation_interval: '5m', tests: [test] }
  writeFileSync(file, JSON.stringify(content))
  return promtool('test', 'rules', file)
}

const HOLDS = { status: 0, output: expect.any(String) }

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
  const sectionOf = (name: string): string =>
    page.split('\n## ').find((text) => text.startsWith(`${name}\n`)) ?? ''

  it('has an incident that raises it alone, or with those that it always brings', () => {
    expect(new Set(INCIDENTS.map(({ alerts: [about] }) => about))).toEqual(new Set(RULES.keys()))
  })

  it.each(INCIDENTS)('names in its section what else is raised by $name', ({ alerts }) => {
    const [about, ...others] = alerts
    for (const other of others) expect(sectionOf(about)).toContain(`\`${other}\``)
  })

  it.each([...RULES])(
    '%s is by service, and leads to a section that says what to do',
    (name, rule) => {
      expect(rule).not.toMatch(/\b(sum|count|avg|max|group) ?\(/)
      expect(rule).toContain('$labels.job')
      expect(rule).toContain(`runbook: 'docs/operate/alerts.md#${name.toLowerCase()}'`)
      expect(sectionOf(name)).toMatch(/\*\*Look at\*\*[^]+\*\*Do\*\*/)
      expect(overview).toContain(`[\`${name}\`](operate/alerts.md#${name.toLowerCase()})`)
    },
  )
})

const usual: Incident = (minute) => minute

describe.skipIf(!PROMETHEUS)('the alert rules', () => {
  it('are accepted by promtool', () => {
    expect(promtool('check', 'rules', ALERTS)).toMatchObject({ status: 0 })
  })

  // On a busy machine.
  const timeout = 900_000

  it(
    'fire for each incident of a small service and nothing else, and for nothing in nine quiet days',
    { timeout },
    () => {
      const quiet = [
        { job: 'large', size: 10, incident: usual },
        { job: 'small', size: 0.1, incident: usual, degraded: 'deny' as const },
        { job: 'large with lines', size: 10, incident: usual, hasLines: true },
        { job: 'small with lines', size: 0.1, incident: usual, hasLines: true },
      ]
      const few = FEW.map((incident, index) => ({
        job: `few ${index}`,
        size: 0.001,
        incident,
        hasLines: index === FEW.length - 1,
      }))
      const ailing = INCIDENTS.map(({ name, incident, degraded, hasLines = false }) => ({
        job: name,
        size: 0.1,
        incident,
        hasLines,
        ...(degraded && { degraded }),
      }))
      const series = [...quiet, ...few, ...ailing].flatMap((service) => seriesOf(service))
      const expectations = [
        ...quiet.map(({ job }) => fired(job, [], { minutes: MINUTES })),
        ...few.map(({ job }) => fired(job, [], { minutes: MINUTES })),
        ...INCIDENTS.map(({ name }) => fired(name, [], { minutes: QUIET, at: QUIET })),
        ...INCIDENTS.map(({ name, alerts }) => fired(name, alerts)),
      ]
      expect(testRules(series, expectations)).toEqual(HOLDS)
    },
  )

  it('fire for a service of its own that is gone, and for no endpoint that has counted nothing yet', () => {
    const length = DAY + HOUR
    const at = length - 1
    const alone = seriesOf({ job: 'gone', size: 1, incident: () => undefined }, length)
    const missing = fired('gone', ['SluiceMetricsMissing'], { at })
    expect(testRules(alone, [missing])).toEqual(HOLDS)
    const restarted = alone.map((one) =>
      (one as { series: string }).series.startsWith('up{')
        ? { series: `up{job="gone",instance="a"}`, values: `1x${length}` }
        : one,
    )
    expect(testRules(restarted, [fired('gone', [], { at })])).toEqual(HOLDS)
    // Of nothing that ever reported, there is no service to name.
    const nothing = [{ series: 'up{job="other"}', values: `1x${length}` }]
    expect(testRules(nothing, [fired('', ['SluiceMetricsMissing'], { at })])).toEqual(HOLDS)
  })
})
