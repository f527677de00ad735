import { context, trace, type AttributeValue } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import type { Policy } from '@sluice/core'
import { telemetry, type TelemetryOptions } from '@sluice/otel'
import { setUp, type SetUpOptions } from '../support/limiters.ts'

/** One point of a metric, with its attributes. */
export interface Point {
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>
  readonly value: unknown
}

/** The real SDK, with exporters in memory. */
export function startSdk() {
  const spanExporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(spanExporter)],
  })
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({
    exporter: metricExporter,
    exportIntervalMillis: 86_400_000,
  })
  const meterProvider = new MeterProvider({ readers: [reader] })

  async function points(name: string): Promise<Point[]> {
    metricExporter.reset()
    await meterProvider.forceFlush()
    return metricExporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) =>
        dataPoints.map(({ attributes, value }) => ({ attributes, value })),
      )
  }

  return {
    tracerProvider,
    meterProvider,
    spans: (): readonly ReadableSpan[] => spanExporter.getFinishedSpans(),
    points,
    /** The sum of a counter by its attributes, as text without their prefix: `outcome=allowed`. */
    async counts(name: string): Promise<Record<string, unknown>> {
      return Object.fromEntries(
        (await points(name)).map(({ attributes, value }) => [short(attributes), value]),
      )
    },
    stop: () => Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()]),
  }
}

const short = (attributes: Point['attributes']): string =>
  Object.entries(attributes)
    .map(([name, value]) => `${name.replace('rate_limiter.', '')}=${String(value)}`)
    .toSorted()
    .join(' ')

export type Sdk = ReturnType<typeof startSdk>

/** A limiter whose decisions are reported to `sdk`. */
export function setUpTelemetry(
  sdk: Sdk,
  policies: readonly Policy[],
  { telemetry: options, ...limiter }: SetUpOptions & { readonly telemetry?: TelemetryOptions } = {},
) {
  const { tracerProvider, meterProvider } = sdk
  const extension = telemetry({ tracerProvider, meterProvider, ...options })
  return setUp(policies, { ...limiter, extensions: [extension] })
}

/** Lets the active span follow `await`, as the SDK for Node does. */
export function followContext(): () => void {
  const manager = new AsyncLocalStorageContextManager().enable()
  context.setGlobalContextManager(manager)
  return () => context.disable()
}

/** Runs `work` within a span, and returns its id. */
export async function within(
  sdk: Sdk,
  name: string,
  work: () => Promise<unknown>,
): Promise<string> {
  const span = sdk.tracerProvider.getTracer('app').startSpan(name)
  await context.with(trace.setSpan(context.active(), span), work)
  span.end()
  return span.spanContext().spanId
}
