import { watchStream, type StreamWatcher } from '@sluice/core/internal/http'
import { assertOptionRules, invalidOption } from '@sluice/core/internal'
import { answerReader } from './answer.ts'
import type { AnswerDecoder } from '../formats/format.ts'
import { logError } from '../log-error.ts'
import {
  RESPONSE_RULES,
  STREAM_RULES,
  type MeterOptions,
  type MeterResponseOptions,
  type MeterStreamOptions,
} from './meter-options.ts'
import { NO_NUMBERS } from '../formats/provider-usage.ts'
import { UsageAccumulator } from './usage-accumulator.ts'
import type { Usage } from '../usage.ts'

/**
 * Meters a provider's response: settles its usage when it ends. Reads OpenAI's chat completions and
 * responses and Anthropic's messages, as JSON and as server-sent events, and any other format that `formats`
 * has. Bytes are passed on as they come, and read from the provider only as fast as they are read here. Of the
 * headers, `content-encoding` and `content-length` are left out, because `fetch` has unpacked the body. If
 * the provider does not report the usage, or the answer breaks off, the text that has passed is counted.
 *
 * An error of the provider (a status outside 200 to 299) has used nothing.
 *
 * @throws ConfigError When an option is unknown, missing or malformed, or the response has been read.
 * @example
 * const response = await fetch('https://api.openai.com/v1/chat/completions', init)
 * return meter(response, {
 *   settle: (usage) => console.log(usage.input + usage.output),
 *   waitUntil: (promise) => ctx.waitUntil(promise),
 * })
 */
export function meter(response: Response, options: MeterResponseOptions): Response {
  assertOptionRules('meter', options, RESPONSE_RULES, 'settle')
  const { chargeErrors, ...rest } = options
  assertUnread('meter.response', typeof response?.bodyUsed !== 'boolean')
  const { body, ok } = response
  if (!body || (!ok && !chargeErrors)) {
    createSettle(rest)(emptyUsage(rest.model))
    return response
  }
  return meterBody(response, body, rest)
}

/** The options of a meter whose reader is not to see all that it meters. */
interface FilterOptions<T> extends MeterStreamOptions {
  readonly filter?: StreamWatcher<T>['filter']
}

/** As `meter`, for a response with this body, and for options that are known to be valid. */
export function meterBody(
  response: Response,
  body: ReadableStream<Uint8Array>,
  options: FilterOptions<Uint8Array>,
): Response {
  assertUnread('meter.response', body.locked || response.bodyUsed)
  const { status, statusText } = response
  const headers = new Headers(response.headers)
  // `fetch` has unpacked the body, and keeps the headers of the packed one.
  headers.delete('content-encoding')
  headers.delete('content-length')
  const passed = bytesMetered(body, options, headers.get('content-type') ?? '')
  return new Response(passed, { status, statusText, headers })
}

/**
 * As `meter`, for a stream of bytes alone.
 *
 * @param contentType Its `content-type`. @default found from its beginning
 * @throws ConfigError When an option is unknown, missing or malformed, or the stream is being read.
 * @example
 * const settle = (usage: Usage) => decision.settle({ token: usage.input + usage.output })
 * return new Response(meterStream(stream, { settle }, 'text/event-stream'))
 */
export function meterStream(
  stream: ReadableStream<Uint8Array>,
  options: MeterStreamOptions,
  contentType = '',
): ReadableStream<Uint8Array> {
  assertOptionRules('meterStream', options, STREAM_RULES, 'settle')
  assertUnread('meterStream.stream', stream?.locked)
  return bytesMetered(stream, options, contentType)
}

/** Fails before `waitUntil` gets a promise that would never be settled. */
function assertUnread(where: string, isRead: unknown): void {
  // Anything but a stream has `undefined` here.
  if (isRead === false) return
  throw invalidOption(where, 'must be unread')
}

function bytesMetered(
  stream: ReadableStream<Uint8Array>,
  { formats = [], ...options }: FilterOptions<Uint8Array>,
  contentType: string,
): ReadableStream<Uint8Array> {
  const text = new TextDecoder()
  let decode: AnswerDecoder = (chunk) => text.decode(chunk, { stream: !!chunk })
  let undecided = formats
  return metered<Uint8Array>(stream, options, createSettle(options), (accumulator) => {
    const reader = answerReader(accumulator, contentType, formats)
    return {
      see(chunk) {
        if (chunk.length) {
          for (const { decoder } of undecided) decode = decoder?.(chunk[0] as number) ?? decode
          undecided = []
        }
        reader.push(decode(chunk))
      },
      end(closed) {
        reader.push(decode())
        reader.end(closed)
      },
    }
  })
}

/** Reads the chunks of an answer. */
export interface ChunkReader<T> {
  see(chunk: T): void
  /** The answer is over, closed by its source or not: reads what is left. */
  end(closed: boolean): void
}

/** A stream that settles by itself what `read` finds in it. */
export function metered<T>(
  stream: ReadableStream<T>,
  options: FilterOptions<T>,
  settle: (usage: Usage) => void,
  read: (accumulator: UsageAccumulator) => ChunkReader<T>,
): ReadableStream<T> {
  const accumulator = new UsageAccumulator(options)
  const reader = read(accumulator)
  return watchStream<T>(stream, {
    see(chunk) {
      if (accumulator.ended) return
      safely(options, () => reader.see(chunk))
      if (accumulator.ended) settle(accumulator.usage(false))
    },
    end(how) {
      const closed = how === 'closed'
      safely(options, () => reader.end(closed))
      settle(accumulator.usage(closed))
    },
    filter: options.filter,
    signal: options.signal,
  })
}

/** Calls `settle` the first time only, and never lets it disturb the caller. */
export function createSettle(options: MeterOptions): (usage: Usage) => void {
  let done: (() => void) | undefined
  let settled: true | undefined
  // At the beginning: when a client is gone it is too late.
  // The provider has been paid by now: an unbound `ctx.waitUntil` must not lose its answer.
  safely(options, () => options.waitUntil?.(new Promise<void>((resolve) => (done = resolve))))
  return (usage) => {
    if (settled) return
    settled = true
    void (async () => options.settle(usage))()
      .catch((error: unknown) => report(options, error))
      .then(done)
  }
}

/** Returns the usage of a request that a provider refused. */
export function emptyUsage(model: string | undefined): Usage {
  return { model, ...NO_NUMBERS, source: 'provider', complete: true }
}

/** Errors here never interrupt the response. */
function safely(options: MeterOptions, work: () => void): void {
  try {
    work()
  } catch (error) {
    report(options, error)
  }
}

function report({ onError }: MeterOptions, error: unknown): void {
  try {
    ;(onError ?? logError)(error)
  } catch {
    // The error of an error callback has nowhere to go.
  }
}
