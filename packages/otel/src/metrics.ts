import type { MeterProvider } from '@opentelemetry/api'
import { defineExtension, type Extension } from '@sluice/core'
import { assertKnownOptions } from '@sluice/core/internal'
import { flusher, flushing, FLUSH_OPTIONS, type FlushOptions } from './flush.ts'
import { measure, MEASURE_OPTIONS, type MeasureOptions } from './measure.ts'
import { otelRecorder } from './meter.ts'

/** Options of `metrics`. */
export interface MetricsOptions extends MeasureOptions, FlushOptions {
  /** @default the global one */
  readonly meterProvider?: MeterProvider
}

export const METRICS_OPTIONS: readonly string[] = [
  'meterProvider',
  ...MEASURE_OPTIONS,
  ...FLUSH_OPTIONS,
]

/**
 * Reports a limiter's decisions to OpenTelemetry as metrics. Needs `@opentelemetry/api`, and reports nothing until
 * your app registers an SDK.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * createLimiter({ store, policies, extensions: [metrics()] })
 */
export function metrics(options: MetricsOptions = {}): Extension {
  assertKnownOptions('metrics', options, METRICS_OPTIONS)
  return defineExtension({
    name: 'metrics',
    connect({ policies, problem }) {
      const flush = flusher('metrics', options, problem)
      const on = measure({ policies }, otelRecorder(options.meterProvider), options)
      return { on: flushing(on, flush) }
    },
  })
}
