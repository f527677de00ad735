import type { DenialFormat } from './body.ts'
import { ConfigError } from '../errors.ts'

/** Why a request is turned away before any limit is asked, such as 401 for nobody's. */
export interface RefusalOptions {
  /** The HTTP status, 400 to 599. */
  readonly status: number
  /** What the client's code can tell it by, such as `unauthenticated`. */
  readonly code: string
  /** A sentence for the client's developer. */
  readonly message: string
  /** Further headers, such as `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * What a subject resolver returns to turn a request away with a status of its own. Nothing is charged.
 *
 * @example
 * const subject = (request) => request.headers.get('x-region') ? { … } : refuse({ status: 400, … })
 */
export class Refusal {
  readonly options: RefusalOptions

  /** @throws ConfigError When `status` is no error's. */
  constructor(options: RefusalOptions) {
    const { status } = options
    if (!Number.isInteger(status) || status < 400 || status > 599) {
      throw new ConfigError('invalid_option', 'refuse.status', 'must be from 400 to 599')
    }
    this.options = options
  }
}

/**
 * Makes a `Refusal`.
 *
 * @throws ConfigError When `status` is no error's.
 * @example
 * refuse({ status: 403, code: 'banned', message: 'This tenant is banned.' })
 */
export function refuse(options: RefusalOptions): Refusal {
  return new Refusal(options)
}

/** Nobody's request. */
export const UNAUTHENTICATED: Refusal = refuse({
  status: 401,
  code: 'unauthenticated',
  message: 'This route needs credentials.',
  headers: { 'WWW-Authenticate': 'Bearer' },
})

/** The response to a refused request, its body in the format that denials have. */
export function refusalResponse({ options }: Refusal, format: DenialFormat = 'default'): Response {
  const { status } = options
  const headers = new Headers({ 'Cache-Control': 'no-store', ...options.headers })
  if (format === 'problem') headers.set('Content-Type', 'application/problem+json')
  return Response.json(BODIES[format](options), { status, headers })
}

const BODIES: Readonly<Record<DenialFormat, (options: RefusalOptions) => object>> = {
  default: ({ code, message }) => ({ error: code, message }),
  nested: ({ code, message }) => ({ error: { code, message } }),
  openai: ({ code, message, status }) => ({
    error: {
      message,
      type: status < 500 ? 'invalid_request_error' : 'server_error',
      param: null,
      code,
    },
  }),
  // Of `about:blank` the title is the status' own phrase (RFC 9457, section 4.2.1).
  problem: ({ code, message, status }) => ({
    type: 'about:blank',
    title: PHRASES[status],
    status,
    detail: message,
    code,
  }),
}

const PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  414: 'URI Too Long',
  503: 'Service Unavailable',
}
