import { context, SpanStatusCode, type SpanContext, type TracerProvider } from '@opentelemetry/api'
import {
  defineExtension,
  type Extension,
  type ExtensionCall,
  type ExtensionContext,
  type LimiterEvents,
  type Listeners,
} from '@sluice/core'
import { assertKnownOptions } from '@sluice/core/internal'
import { setBounded } from './bounded.ts'
import { decisionAttributes, prefixed } from './decision-span.ts'
import { flusher, flushing, FLUSH_OPTIONS, type FlushOptions } from './flush.ts'
import { LABELS, SPAN } from './names.ts'
import { partitionNames, type PartitionAttributes, type PartitionNames } from './partition.ts'
import { currentTracer } from './sdk.ts'

/** Options of `traces`. */
export interface TracesOptions extends FlushOptions {
  /** The way in which spans name whose budget a request counts on. @default 'hashed' */
  readonly partition?: PartitionNames
  /** @default the global one */
  readonly tracerProvider?: TracerProvider
}

export const TRACES_OPTIONS: readonly string[] = ['partition', 'tracerProvider', ...FLUSH_OPTIONS]

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
 * Reports a limiter's decisions to OpenTelemetry as spans: `rate_limiter.check` for each, within the span that is
 * active. Needs `@opentelemetry/api`, and reports nothing until your app registers an SDK.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * createLimiter({ store, policies, extensions: [traces()] })
 */
export function traces(options: TracesOptions = {}): Extension {
  assertKnownOptions('traces', options, TRACES_OPTIONS)
  return defineExtension({
    name: 'traces',
    connect(limiter) {
      const flush = flusher('traces', options, limiter.problem)
      const { before, on } = connectTraces('traces', limiter, options)
      return { before, on: flushing(on, flush) }
    },
  })
}

export interface Tracing {
  readonly before: (call: ExtensionCall) => undefined | Promise<undefined>
  readonly on: Required<Pick<Listeners, 'decision' | 'settled' | 'abandoned'>>
}

/** Creates the part of an extension that makes the spans. @throws ConfigError When an option is malformed. */
export function connectTraces(
  caller: string,
  { policies }: Pick<ExtensionContext, 'policies'>,
  { partition = 'hashed', tracerProvider }: TracesOptions,
): Tracing {
  const partitionOf = partitionNames(caller, partition, policies)
  const tracerOf = currentTracer(tracerProvider)
  const starts = new WeakMap<ExtensionCall, Start>()
  const spans = new Map<string, SpanContext>()

  function endCheck({ decision, subject, call, reservation }: LimiterEvents['decision']): void {
    const tracer = tracerOf()
    if (!tracer) return
    const start = starts.get(call)
    const startTime = start?.epochMs ?? Date.now()
    const span = tracer.startSpan(SPAN.check, { startTime }, context.active())
    const { degraded, place } = decision
    if (span.isRecording()) {
      span.setAttributes(decisionAttributes(decision, subject, reservation))
      if (start) span.setAttributes(start.partition)
      // That of a tenant names the tenant.
      if (place && (partition === 'named' || !place.includes('='))) {
        span.setAttribute(LABELS.place, place)
      }
    }
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
      decision: endCheck,
      settled: (event) => endReservation('settled', event),
      abandoned: (event) => endReservation('abandoned', event),
    },
  }
}

type EndedReservation = Pick<LimiterEvents['abandoned'], 'id'> &
  Partial<Pick<LimiterEvents['settled'], 'returned' | 'overrun'>>
