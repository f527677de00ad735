import { readChunks } from '@sluice/core/internal/http'
import { assertKnownOptions, assertPositiveInteger, invalidOption } from '@sluice/core/internal'
import { createMessageScan } from './message-scan.ts'

/** The longest body that the transports of the MCP SDK read by default, in bytes. */
const MAX_BODY_BYTES = 4_194_304

/** Options of `countMessages`. */
export interface CountMessagesOptions {
  /** The longest body, in bytes. A longer one is answered with 413, and costs a request. @default 4_194_304 */
  readonly maxBodyBytes?: number | undefined
}

/** A cost for the endpoint of an MCP server, created by `countMessages`. */
export type MessageCost = (request: Request, ...context: readonly unknown[]) => Promise<number>

/**
 * Creates a `cost` for the adapter in front of an MCP endpoint: a request for each JSON-RPC message in the
 * body. A batch of a hundred calls is one HTTP request. A request without a body costs 1.
 *
 * Reads a copy of the body, so that the transport still gets it. On Express, put `express.json()` before the
 * limit; on Fastify, set `hook: 'preHandler'`: their requests have a body only when it has been parsed.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * app.use('/mcp', rateLimit(limiter, { subject: tenantFromJwt, cost: countMessages() }))
 */
export function countMessages(options: CountMessagesOptions = {}): MessageCost {
  assertKnownOptions('countMessages', options, ['maxBodyBytes'])
  const { maxBodyBytes = MAX_BODY_BYTES } = options
  assertPositiveInteger('countMessages.maxBodyBytes', maxBodyBytes)

  return async (request, platform) => {
    return request.body === null
      ? parsedCount(request.headers, platform)
      : readCount(request.clone(), maxBodyBytes)
  }
}

/** Counts the messages of a body that the framework has parsed, such as that of Express. */
function parsedCount(headers: Headers, platform: unknown): number {
  const { body } = (platform ?? {}) as { readonly body?: unknown }
  if (Array.isArray(body)) return Math.max(1, body.length)
  const isAnnounced = headers.has('transfer-encoding') || Number(headers.get('content-length')) > 0
  const isJson = headers.get('content-type')?.includes('json') ?? false
  // A transport takes nothing but JSON.
  if (body !== undefined || !isAnnounced || !isJson) return 1
  const message =
    'needs the body: put express.json() before the limit, or on Fastify set hook: "preHandler"'
  throw invalidOption('countMessages', message)
}

async function readCount(request: Request, maxBodyBytes: number): Promise<number> {
  const scan = createMessageScan()
  await readChunks(request, maxBodyBytes, (chunk) => scan.push(chunk))
  return scan.count()
}
