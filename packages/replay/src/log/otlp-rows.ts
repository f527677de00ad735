import type { Fault, Row, TextChunks } from './row.ts'
import { parseJson } from '@sluice/core/internal/limiter'
import { linesOf, type Line } from './lines.ts'

/** A batch of spans is one line, so lines are long. */
const MAX_BATCH = 64_000_000

/** A list of attributes, as OTLP writes it in JSON. */
type Attributes = readonly { readonly key?: string; readonly value?: Record<string, unknown> }[]

interface Span {
  readonly kind?: number | string
  readonly startTimeUnixNano?: string | number
  readonly attributes?: Attributes
}

/** The part of an `ExportTraceServiceRequest` that is read. */
interface Batch {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: Attributes }
    readonly scopeSpans?: readonly { readonly spans?: readonly Span[] }[]
  }[]
}

/** The spans that are calls: those of model calls, or those of the requests that a server answers. */
export type SpanKind = 'model' | 'server'

/**
 * Reads spans as the file exporter of the OpenTelemetry Collector writes them: a batch in each line. A row has the
 * attributes of the span and of its resource, and `time`.
 * https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
 */
export async function* otlpRows(chunks: TextChunks, kind?: SpanKind): AsyncGenerator<Row | Fault> {
  for await (const items of linesOf(chunks, MAX_BATCH)) {
    for (const item of items) {
      if ('reason' in item) yield item
      else yield* spansOf(item, kind)
    }
  }
}

function* spansOf({ line, text }: Line, kind: SpanKind | undefined): Generator<Row | Fault> {
  const batch = parseJson(text) as Batch | null | undefined
  if (!Array.isArray(batch?.resourceSpans)) {
    yield { line, reason: 'the line is not a batch of spans' }
    return
  }
  for (const { resource, scopeSpans = [] } of batch.resourceSpans as Batch['resourceSpans'] & {}) {
    const shared = valuesOf(resource?.attributes)
    for (const span of scopeSpans.flatMap(({ spans = [] }) => spans)) {
      const values = { ...shared, ...valuesOf(span.attributes), time: span.startTimeUnixNano }
      if (kind === undefined || spanKind(span, values) === kind) yield { line, values }
    }
  }
}

/** Returns the kind of spans to read: model calls if the beginning of a file has any. */
export async function spanKindOf(chunks: TextChunks): Promise<SpanKind> {
  let rows = 0
  for await (const row of otlpRows(chunks, 'model')) {
    if ('values' in row) return 'model'
    if ((rows += 1) === 100) break
  }
  return 'server'
}

function spanKind({ kind }: Span, values: Row['values']): SpanKind | undefined {
  if ('gen_ai.operation.name' in values || 'gen_ai.request.model' in values) return 'model'
  return kind === 2 || kind === 'SPAN_KIND_SERVER' ? 'server' : undefined
}

function valuesOf(attributes: Attributes = []): Record<string, unknown> {
  const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const { key = '', value = {} } of attributes) values[key] = Object.values(value)[0]
  return values
}
