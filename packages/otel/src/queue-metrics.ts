import { metrics, type MeterProvider, type Observable } from '@opentelemetry/api'
import { assertKnownOptions } from '@sluice/core/internal'
import { attributesOf } from './meter.ts'
import type { Metric } from './metric-table.ts'
import { gaugesOfQueues, QUEUE_METRICS, type QueueCounts } from './queue-counts.ts'
import { SCOPE } from './sdk.ts'

/** Options of `queueMetrics`. */
export interface QueueMetricsOptions {
  /** @default the global one */
  readonly meterProvider?: MeterProvider
}

/**
 * Reports to OpenTelemetry how many jobs are in queues, and the age of the oldest that waits. Your SDK asks for them
 * before it exports: one round trip for each queue. Call it once, in a process that runs all the time, after the SDK has
 * started.
 *
 * @param queues Functions that count, by the name of the queue.
 * @throws ConfigError When an option is unknown.
 * @example
 * queueMetrics({ summaries: () => countJobs(summaries) })
 */
export function queueMetrics(queues: QueueCounts, options: QueueMetricsOptions = {}): void {
  assertKnownOptions('queueMetrics', options, ['meterProvider'])
  const meter = (options.meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE)
  const gauges = new Map<Metric, Observable>()
  for (const metric of Object.values(QUEUE_METRICS)) {
    const { name, unit, description } = metric
    gauges.set(metric, meter.createObservableGauge(name, { unit, description }))
  }
  meter.addBatchObservableCallback(
    async (result) => {
      for (const { metric, labels, value } of await gaugesOfQueues(queues)) {
        const gauge = gauges.get(metric)
        if (gauge) result.observe(gauge, value, attributesOf(labels))
      }
    },
    [...gauges.values()],
  )
}
