import { METRICS, type Metric } from '../metric-table.ts'
import type { GaugeValue } from '../queue-counts.ts'
import { labelText } from './label-text.ts'
import { FAMILIES, type CountedMetric, type SeriesValues } from './series.ts'

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The endings that Prometheus' names have by unit. */
const UNIT_ENDINGS: Readonly<Record<string, string>> = { s: '_seconds', USD: '_usd', '1': '_ratio' }

/** The text while nothing is counted. Prometheus skips comments. */
const NO_DECISION =
  '# No decision has been counted here yet. If the limiter decides elsewhere: give prometheus() a name where a module ' +
  'is loaded twice, as by proxy.ts of Next.js; for other processes, isolates and edge middleware, share the series\n'

/** Writes series and gauges in Prometheus' text format. */
export function formatMetrics(series: SeriesValues, gauges: readonly GaugeValue[]): string {
  const lines: string[] = []
  const write = (metric: Metric, samples: readonly string[]): void => {
    const [name, { description, kind }] = [nameOf(metric), metric]
    if (samples.length === 0) return
    lines.push(`# HELP ${name} ${description}`, `# TYPE ${name} ${kind}`, ...samples)
  }
  for (const [key, family] of Object.entries(FAMILIES) as [CountedMetric, string][]) {
    write(METRICS[key], samplesOf(METRICS[key], family, series))
  }
  for (const metric of new Set(gauges.map((gauge) => gauge.metric))) {
    const own = gauges.filter((gauge) => gauge.metric === metric)
    write(
      metric,
      own.map(({ labels, value }) => sample(nameOf(metric), labelText(labels), value)),
    )
  }
  return (series.size === 0 ? NO_DECISION : '') + lines.map((line) => `${line}\n`).join('')
}

function samplesOf(metric: Metric, family: string, series: SeriesValues): string[] {
  const name = nameOf(metric)
  const samples: string[] = []
  for (const [key, values] of series) {
    if (!key.startsWith(family)) continue
    const labels = key.slice(family.length)
    if (metric.kind === 'histogram') samples.push(...histogram(name, metric, labels, values))
    else samples.push(sample(name, labels, (values[0] ?? 0) / (metric.divisor ?? 1)))
  }
  return samples
}

function histogram(
  name: string,
  { bounds = [], divisor = 1 }: Metric,
  labels: string,
  values: readonly number[],
): string[] {
  let count = 0
  const buckets = [...bounds, Infinity].map((bound, index) => {
    count += values[index] ?? 0
    const le = bound === Infinity ? '+Inf' : String(bound / divisor)
    return sample(`${name}_bucket`, `${labels}${labels && ','}le="${le}"`, count)
  })
  const sum = (values[bounds.length + 1] ?? 0) / divisor
  return [...buckets, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, count)]
}

const sample = (name: string, labels: string, value: number): string =>
  `${name}${labels && `{${labels}}`} ${value}`

function nameOf({ name, kind, unit }: Metric): string {
  const base = name.replaceAll('.', '_') + (UNIT_ENDINGS[unit] ?? '')
  return kind === 'counter' ? `${base}_total` : base
}
