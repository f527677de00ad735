import type {
  Attributes,
  Counter,
  Gauge,
  Histogram,
  Meter,
  MeterProvider,
} from '@opentelemetry/api'
import type { Recorder } from './measure.ts'
import { METRICS, type MetricName } from './metric-table.ts'
import { LABELS, type Labels } from './names.ts'
import { instrumentsOf } from './sdk.ts'

export function otelRecorder(provider: MeterProvider | undefined): Recorder & Required<Recorder> {
  const { isActive, find } = instrumentsOf(provider, createInstrument)
  return {
    isActive,
    add: (metric, labels, value) =>
      (find(metric) as Counter | undefined)?.add(scaled(metric, value), attributesOf(labels)),
    observe: (metric, labels, value) =>
      (find(metric) as Histogram | undefined)?.record(scaled(metric, value), attributesOf(labels)),
    set: (metric, labels, value) =>
      (find(metric) as Gauge | undefined)?.record(value, attributesOf(labels)),
  }
}

/** Returns a measured number in the metric's unit. */
const scaled = (metric: MetricName, value: number): number => value / (METRICS[metric].divisor ?? 1)

function createInstrument(meter: Meter, metric: MetricName): Counter | Histogram | Gauge {
  const { name, kind, unit, description, bounds = [] } = METRICS[metric]
  if (kind === 'counter') return meter.createCounter(name, { unit, description })
  if (kind === 'gauge') return meter.createGauge(name, { unit, description })
  const explicitBucketBoundaries = bounds.map((bound) => scaled(metric, bound))
  return meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries } })
}

export function attributesOf(labels: Labels): Attributes {
  const attributes: Attributes = {}
  for (const [label, value] of Object.entries(labels)) {
    if (value !== undefined) attributes[LABELS[label as keyof Labels]] = value
  }
  return attributes
}
