import { defineExtension, type Extension } from '@sluice/core'
import { assertKnownOptions } from '@sluice/core/internal'
import { flusher, flushing, inTurn } from './flush.ts'
import { measure } from './measure.ts'
import { otelRecorder } from './meter.ts'
import { METRICS_OPTIONS, type MetricsOptions } from './metrics.ts'
import { connectTraces, TRACES_OPTIONS, type TracesOptions } from './traces.ts'

/** Options of `telemetry`: those of `traces` and of `metrics`. */
export interface TelemetryOptions extends TracesOptions, MetricsOptions {}

/**
 * Reports a limiter's decisions to OpenTelemetry: a span `rate_limiter.check` for each, within the span that
 * is active, and metrics. Needs `@opentelemetry/api`, and reports nothing until your app registers an SDK. `traces` and
 * `metrics` report one of both, in half the code.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * createLimiter({ store, policies, extensions: [telemetry()] })
 */
export function telemetry(options: TelemetryOptions = {}): Extension {
  assertKnownOptions('telemetry', options, [...TRACES_OPTIONS, ...METRICS_OPTIONS])
  return defineExtension({
    name: 'telemetry',
    connect({ policies, problem }) {
      const { before, on } = connectTraces('telemetry', { policies }, options)
      const measuring = measure({ policies }, otelRecorder(options.meterProvider), options)
      const flush = flusher('telemetry', options, problem)
      const both: typeof measuring = {
        ...measuring,
        decision: inTurn(on.decision, measuring.decision),
        settled: inTurn(on.settled, measuring.settled),
        abandoned: inTurn(on.abandoned, measuring.abandoned),
      }
      return { before, on: flushing(both, flush) }
    },
  })
}
