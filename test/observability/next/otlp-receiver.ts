import { once } from 'node:events'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { addressOf } from '../../e2e/support/ports.ts'

type Value = string | number | boolean | readonly Value[] | undefined
type Attributes = Readonly<Record<string, Value>>

/** A span as it was received. */
export interface ReceivedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly attributes: Attributes
  /** Attributes of the process that sent it. */
  readonly resource: Attributes
}

/** One point of a metric as it was received. */
export interface ReceivedPoint {
  readonly name: string
  readonly attributes: Attributes
  readonly resource: Attributes
  /** The sum of a counter, the number of values of a histogram. */
  readonly value: number
}

/** Starts a receiver of OTLP/HTTP in JSON, as an operator's collector is one. */
export async function startReceiver() {
  const spans: ReceivedSpan[] = []
  const points: ReceivedPoint[] = []
  const server = createServer((request, response) => {
    const receive = async (): Promise<void> => {
      const body = await json(request)
      if (request.url === '/v1/traces') spans.push(...spansOf(body as TracesBody))
      if (request.url === '/v1/metrics') points.push(...pointsOf(body as MetricsBody))
      response.setHeader('content-type', 'application/json').end('{}')
    }
    receive().catch((error: unknown) => response.writeHead(400).end(String(error)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${addressOf(server).port}`,
    spans: spans as readonly ReceivedSpan[],
    points: points as readonly ReceivedPoint[],
    async close(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

interface OtlpValue {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly doubleValue?: number
  readonly boolValue?: boolean
  readonly arrayValue?: { readonly values: readonly OtlpValue[] }
}

type OtlpAttributes = readonly { readonly key: string; readonly value: OtlpValue }[]

interface Resource {
  readonly resource: { readonly attributes: OtlpAttributes }
}

interface OtlpSpan extends Omit<ReceivedSpan, 'attributes' | 'resource'> {
  readonly attributes: OtlpAttributes
}

interface TracesBody {
  readonly resourceSpans: readonly (Resource & {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  })[]
}

interface OtlpPoint {
  readonly attributes: OtlpAttributes
  readonly asInt?: number | string
  readonly asDouble?: number
  readonly count?: number | string
}

interface OtlpMetric {
  readonly name: string
  readonly sum?: { readonly dataPoints: readonly OtlpPoint[] }
  readonly gauge?: { readonly dataPoints: readonly OtlpPoint[] }
  readonly histogram?: { readonly dataPoints: readonly OtlpPoint[] }
}

interface MetricsBody {
  readonly resourceMetrics: readonly (Resource & {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[]
  })[]
}

const spansOf = ({ resourceSpans }: TracesBody): ReceivedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ name, traceId, spanId, parentSpanId, attributes }) => ({
        name,
        traceId,
        spanId,
        parentSpanId,
        attributes: attributesOf(attributes),
        resource: attributesOf(resource.attributes),
      })),
  )

const pointsOf = ({ resourceMetrics }: MetricsBody): ReceivedPoint[] =>
  resourceMetrics.flatMap(({ resource, scopeMetrics }) =>
    scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .flatMap(({ name, sum, gauge, histogram }) =>
        (sum ?? gauge ?? histogram ?? { dataPoints: [] }).dataPoints.map((point) => ({
          name,
          attributes: attributesOf(point.attributes),
          resource: attributesOf(resource.attributes),
          value: Number(point.asInt ?? point.asDouble ?? point.count),
        })),
      ),
  )

const attributesOf = (attributes: OtlpAttributes): Attributes =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]))

function valueOf({ stringValue, intValue, doubleValue, boolValue, arrayValue }: OtlpValue): Value {
  if (arrayValue) return arrayValue.values.map(valueOf)
  return intValue === undefined ? (stringValue ?? doubleValue ?? boolValue) : Number(intValue)
}
