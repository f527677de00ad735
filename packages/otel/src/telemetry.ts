import {
  context,
  SpanStatusCode,
  type MeterProvider,
  type SpanContext,
  type TracerProvider,
} from '@opentelemetry/api'
import {
  defineExtension,
  type Extension,
  type ExtensionCall,
  type LimiterEvents,
} from '@sluice/core'
import { assertKnownOptions } from '@sluice/core/validation'
import { setBounded } from './bounded.ts'
import { decisionAttributes, prefixed } from './decision-span.ts'
import { flusher, type FlushOptions } from './flush.ts'
import { measure, type MeasureOptions } from './measure.ts'
import { otelRecorder } from './meter.ts'
import { LABELS, SPAN } from './names.ts'
import { partitionNames, type PartitionAttributes, type PartitionNames } from './partition.ts'
import { currentTracer } from './sdk.ts'

/** Options of `telemetry`. */
export interface TelemetryOptions extends MeasureOptions, FlushOptions {
  /** The way in which spans name whose budget a request counts on. @default 'hashed' */
  readonly partition?: PartitionNames
  /** @default the global one */
  readonly tracerProvider?: TracerProvider
  /** @default the global one */
  readonly meterProvider?: MeterProvider
}

const OPTIONS = [
  'partition',
  'tenants',
  'maxValues',
  'tracerProvider',
  'meterProvider',
  'flush',
  'flushEvery',
]

/** Reservations that a settlement's span can be linked to. */
const MAX_LINKS = 10_000

/** The facts of a decision that are known before it is made. */
interface Start {
  readonly epochMs: number
  /** The time of a clock that is never set, for the duration. */
  readonly steadyMs: number
  readonly partition: PartitionAttributes
}

/**
 * Reports a limiter's decisions to OpenTelemetry: a span `rate_limiter.check` for each, within the span that
 * is active, and metrics. Needs `@opentelemetry/api`, and reports nothing until your app registers an SDK.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * createLimiter({ store, policies, extensions: [telemetry()] })
 */
export function telemetry(options: TelemetryOptions = {}): Extension {
  assertKnownOptions('telemetry', options, OPTIONS)
  const { partition = 'hashed', tracerProvider, meterProvider } = options
  return defineExtension({
    name: 'telemetry',
    connect({ policies, problem }) {
      const partitionOf = partitionNames(partition, policies)
      const measuring = measure({ policies }, otelRecorder(meterProvider), options)
      const flush = flusher('telemetry', options, problem)
      const tracerOf = currentTracer(tracerProvider)
      const starts = new WeakMap<ExtensionCall, Start>()
      const spans = new Map<string, SpanContext>()

      function endCheck({ decision, subject, call, reservation }: LimiterEvents['decision']): void {
        const tracer = tracerOf()
        if (!tracer) return
        const start = starts.get(call)
        const startTime = start?.epochMs ?? Date.now()
        const span = tracer.startSpan(SPAN.check, { startTime }, context.active())
        if (span.isRecording()) {
          span.setAttributes(decisionAttributes(decision, subject, reservation))
          if (start) span.setAttributes(start.partition)
        }
        const { degraded } = decision
        if (degraded) span.setStatus({ code: SpanStatusCode.ERROR, message: degraded.cause })
        span.end(startTime + (start ? performance.now() - start.steadyMs : 0))
        if (reservation) setBounded(spans, reservation, span.spanContext(), MAX_LINKS)
      }

      /** Reports the end of a reservation, linked to its check if this process made it. */
      function endReservation(
        outcome: 'settled' | 'abandoned',
        { id, returned = {}, overrun = {} }: EndedReservation,
      ): void {
        const tracer = tracerOf()
        if (!tracer) return
        const checked = spans.get(id)
        spans.delete(id)
        const attributes = {
          [LABELS.outcome]: outcome,
          [SPAN.reservation]: id,
          ...prefixed(SPAN.returned, returned),
          ...prefixed(SPAN.overrun, overrun),
        }
        const links = checked ? [{ context: checked }] : []
        tracer.startSpan(SPAN.settle, { attributes, links }, context.active()).end()
      }

      return {
        before(call) {
          if (!tracerOf() || starts.has(call)) return undefined
          const times = { epochMs: Date.now(), steadyMs: performance.now() }
          const named = partitionOf(call.subject)
          const begin = (names: PartitionAttributes): undefined =>
            void starts.set(call, { ...times, partition: names })
          return named instanceof Promise ? named.then(begin) : begin(named)
        },
        on: {
          ...measuring,
          decision(event) {
            endCheck(event)
            measuring.decision(event)
            flush(event.call.waitUntil)
          },
          settled(event) {
            endReservation('settled', event)
            measuring.settled(event)
          },
          abandoned(event) {
            endReservation('abandoned', event)
            measuring.abandoned(event)
          },
        },
      }
    },
  })
}

type EndedReservation = Pick<LimiterEvents['abandoned'], 'id'> &
  Partial<Pick<LimiterEvents['settled'], 'returned' | 'overrun'>>
