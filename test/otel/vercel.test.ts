import { trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { fixedWindow } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { telemetry } from '@sluice/otel'
import { registerOTel } from '@vercel/otel'
import { expect, it } from 'vitest'
import { ACME, setUp } from '../support/limiters.ts'

it('with @vercel/otel, a decision is a span within that of its request, and is counted', async () => {
  const spanExporter = new InMemorySpanExporter()
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const metricReader = new PeriodicExportingMetricReader({ exporter })
  registerOTel({
    serviceName: 'app',
    spanProcessors: [new SimpleSpanProcessor(spanExporter)],
    metricReaders: [metricReader],
    instrumentations: [],
  })
  const rpm = fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })
  const { limiter } = setUp([rpm], { extensions: [telemetry()] })
  const limited = rateLimit(limiter, { routes: ['/api/**'], subject: () => ACME }, () =>
    Response.json({}),
  )
  await trace.getTracer('app').startActiveSpan('request', async (span) => {
    await limited(new Request('https://app.example/api/chat'))
    span.end()
  })
  const [check, request] = spanExporter.getFinishedSpans()
  expect(check?.name).toBe('rate_limiter.check')
  expect(check?.attributes['rate_limiter.route']).toBe('/api/**')
  expect(check?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId)
  await metricReader.forceFlush()
  const metrics = exporter.getMetrics()[0]?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
  expect(metrics.map(({ descriptor }) => descriptor.name)).toContain('rate_limiter.decisions')
  await metricReader.shutdown()
})
