/**
 * The shape of a denial's body:
 *
 * - `default`: `{ error, message, policy, scope, retryAfter, resetAt }`, and `resetsAt` with a calendar;
 * - `nested`: `{ error: { code, message, … } }`, with the same fields;
 * - `problem`: `application/problem+json` (RFC 9457) with the problem types of
 *   draft-ietf-httpapi-ratelimit-headers-11;
 * - `openai`: `{ error: { message, type, param, code } }`, as OpenAI's API answers.
 */
export type DenialFormat = 'default' | 'nested' | 'problem' | 'openai'

/** The facts in an error's body. */
export interface ErrorFacts {
  readonly status: number
  /** The name by which the client's code recognizes the error. */
  readonly code: string
  /** A sentence for the client's developer. */
  readonly message: string
  /** Further fields, except in the format `openai`. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
  /** Fields in the format `problem`. @default those of the status */
  readonly problem?: Readonly<Record<string, unknown>>
  /** Fields in the format `openai`. @default those of the status */
  readonly openai?: Readonly<Record<string, unknown>> | undefined
}

const BODIES: Readonly<Record<DenialFormat, (facts: ErrorFacts) => object>> = {
  default: ({ code, message, details }) => ({ error: code, message, ...details }),
  nested: ({ code, message, details }) => ({ error: { code, message, ...details } }),
  openai: ({ status, code, message, openai }) => ({
    error: {
      message,
      type: status < 500 ? 'invalid_request_error' : 'server_error',
      param: null,
      code,
      ...openai,
    },
  }),
  // With `about:blank` the title is the phrase of the status (RFC 9457, section 4.2.1).
  problem: ({ status, code, message, details, problem }) => ({
    type: 'about:blank',
    title: PHRASES[status],
    status,
    detail: message,
    code,
    ...problem,
    ...details,
  }),
}

const PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  414: 'URI Too Long',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
}

/** The names of the formats. */
export const DENIAL_FORMATS = /* @__PURE__ */ Object.keys(BODIES) as readonly DenialFormat[]

/** Creates a response with these facts in its body, which no cache may store. */
export function errorResponse(
  facts: ErrorFacts,
  format: DenialFormat = 'default',
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(BODIES[format](facts), {
    status: facts.status,
    headers: {
      'Cache-Control': 'no-store',
      ...(format === 'problem' && { 'Content-Type': 'application/problem+json' }),
      ...headers,
    },
  })
}

/**
 * Returns the format that a client prefers by its `Accept` header: `problem` if it names
 * `application/problem+json` with no lower weight than `application/json`. Wildcards do not count.
 */
export function negotiatedFormat(request: Request): DenialFormat {
  let [problem, json] = [0, 0]
  for (const range of (request.headers.get('accept') ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    if (type === 'application/problem+json') problem = Math.max(problem, quality(parameters))
    if (type === 'application/json') json = Math.max(json, quality(parameters))
  }
  return problem > 0 && problem >= json ? 'problem' : 'default'
}

/** Reads the weight of a media range (RFC 9110, section 12.4.2): 1 by default, 0 when malformed. */
function quality(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0
}
