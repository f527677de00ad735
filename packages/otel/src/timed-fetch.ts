import type { Attributes } from '@opentelemetry/api'
import { copyResponse, watchStream } from '@sluice/core/internal/http'
import { assertFunction, assertKnownOptions } from '@sluice/core/internal'
import { boundedValues } from './bounded.ts'
import { EMBEDDINGS, GEN_AI, MAX_MODELS, MODEL_OPTIONS, operationAttributes } from './gen-ai.ts'
import type { ModelTelemetryOptions } from './gen-ai.ts'
import { instrumentsOf } from './sdk.ts'
import { parseJson } from '@sluice/core/internal/limiter'

/** The bounds that the conventions give for both durations, in seconds: from 10 ms, doubling. */
const SECONDS_BOUNDS = Array.from({ length: 14 }, (_, index) => 2 ** index / 100)

/** A longer body is not parsed for the name of its model. */
const MAX_PARSED_BODY = 1_000_000

/** The part of `fetch` that model clients use. */
type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Options of `timedFetch`. */
export interface TimedFetchOptions extends ModelTelemetryOptions {
  /**
   * The operation, by the name of the conventions. @default 'embeddings' for a path that ends in `/embeddings`, otherwise 'chat'
   */
  readonly operation?: string
  /** Sends the calls. @default fetch */
  readonly fetch?: FetchLike
}

/**
 * Creates a `fetch` for model calls that reports how long they take, by the GenAI conventions, in seconds:
 * `gen_ai.client.inference.duration` of each, until its answer has been read, and
 * `gen_ai.client.inference.time_to_first_chunk` of those that are streamed; of embeddings `gen_ai.client.embeddings.duration`. A call that fails has `error.type`: its
 * status, the code of its error, or `broken` or `cancelled` if its answer ends early. Put it below the limits, so that denied calls are not counted.
 *
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * limitedFetch(limiter, { subject, prices, fetch: timedFetch({ provider: 'openai' }) })
 */
export function timedFetch(options: TimedFetchOptions): FetchLike {
  assertKnownOptions('timedFetch', options, [...MODEL_OPTIONS, 'fetch'])
  const { fetch: send = (input, init) => fetch(input, init), meterProvider } = options
  assertFunction('timedFetch.fetch', send)
  const base = operationAttributes('timedFetch', options)
  const ofEmbeddings = operationAttributes('timedFetch', { ...options, operation: EMBEDDINGS })
  const boundedModel = boundedValues(MAX_MODELS)
  const advice = { explicitBucketBoundaries: SECONDS_BOUNDS }
  const { isActive, find } = instrumentsOf(meterProvider, (meter, name: string) =>
    meter.createHistogram(name, { unit: 's', advice }),
  )
  const record = (name: string, sinceMs: number, attributes: Attributes): void =>
    find(name)?.record((performance.now() - sinceMs) / 1_000, attributes)

  return async (input, init) => {
    if (!isActive()) return send(input, init)
    const sentAt = performance.now()
    const isEmbeddings = (options.operation ?? operationAt(input)) === EMBEDDINGS
    const duration = isEmbeddings ? GEN_AI.embeddingsDuration : GEN_AI.duration
    const attributes: Attributes = {
      ...(isEmbeddings ? ofEmbeddings : base),
      ...addressAttributes(input),
      [GEN_AI.requestModel]: boundedModel(modelIn(init?.body)),
    }
    const end = (error?: string): void =>
      record(duration, sentAt, error ? { ...attributes, [GEN_AI.error]: error } : attributes)
    let response: Response
    try {
      response = await send(input, init)
    } catch (error) {
      end(errorType(error))
      throw error
    }
    const failure = response.ok ? undefined : String(response.status)
    if (response.body === null) {
      end(failure)
      return response
    }
    let isStream =
      !isEmbeddings && response.headers.get('content-type')?.startsWith('text/event-stream')
    const body = watchStream(response.body, {
      see() {
        if (isStream) record(GEN_AI.timeToFirstChunk, sentAt, attributes)
        isStream = false
      },
      end(how) {
        end(failure ?? (how === 'closed' ? undefined : how))
      },
    })
    const copy = copyResponse(response, body)
    // `fetch` has decompressed the body.
    copy.headers.delete('content-encoding')
    copy.headers.delete('content-length')
    return copy
  }
}

/** Returns the operation that an address names, if it does. */
function operationAt(input: string | URL | Request): string | undefined {
  const address = typeof input === 'object' && 'url' in input ? input.url : String(input)
  return /\/embeddings\/?(\?|$)/.test(address) ? EMBEDDINGS : undefined
}

/** Returns the provider's address. A relative one has none, and must not break the call. */
function addressAttributes(input: string | URL | Request): Attributes {
  const address = typeof input === 'object' && 'url' in input ? input.url : input
  if (!URL.canParse(address)) return {}
  const { hostname, port, protocol } = new URL(address)
  return {
    [GEN_AI.serverAddress]: hostname,
    [GEN_AI.serverPort]: Number(port || (protocol === 'http:' ? 80 : 443)),
  }
}

/** Returns the model that a body of JSON names. */
function modelIn(body: unknown): string | undefined {
  if (typeof body !== 'string' || body.length > MAX_PARSED_BODY) return undefined
  const { model } = (parseJson(body) ?? {}) as { readonly model?: unknown }
  return typeof model === 'string' ? model : undefined
}

/** Returns the code of what `fetch` throws, which is in its cause, or else its name. */
function errorType(error: unknown): string {
  const { name, cause } = Object(error) as { readonly name?: unknown; readonly cause?: unknown }
  const { code } = Object(cause) as { readonly code?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : '_OTHER'
}
