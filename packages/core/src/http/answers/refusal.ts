import { assertInteger } from '../../internal/validation.ts'
import { errorResponse, type DenialFormat } from './format.ts'

/** The response to a request that is turned away before the limits are checked. */
export interface RefusalOptions {
  /** The HTTP status, 400 to 599. */
  readonly status: number
  /** The name by which the client's code recognizes the refusal, such as `unauthenticated`. */
  readonly code: string
  /** A sentence for the client's developer. */
  readonly message: string
  /** Further fields of the body, except in the format `openai`. */
  readonly details?: Readonly<Record<string, unknown>>
  /** Further headers, such as `WWW-Authenticate`. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * The result of a subject resolver that turns a request away with a status of its own. Nothing is
 * charged.
 *
 * @example
 * const subject = (request) => request.headers.get('x-region') ? { … } : refuse({ status: 400, … })
 */
export class Refusal {
  /** As of a denied decision. */
  readonly allowed = false
  readonly options: RefusalOptions

  /** @throws ConfigError Unless `status` is from 400 to 599. */
  constructor(options: RefusalOptions) {
    assertInteger('refuse.status', options.status, 400, 599)
    this.options = options
  }
}

/**
 * Creates a `Refusal`.
 *
 * @throws ConfigError Unless `status` is from 400 to 599.
 * @example
 * refuse({ status: 403, code: 'banned', message: 'This tenant is banned.' })
 */
export function refuse(options: RefusalOptions): Refusal {
  return new Refusal(options)
}

/** The answer to a request without a subject. */
export const UNAUTHENTICATED: Refusal = refuse({
  status: 401,
  code: 'unauthenticated',
  message: 'This route needs credentials.',
  headers: { 'WWW-Authenticate': 'Bearer' },
})

/** Creates the response to a refused request, in the format that denials have. */
export function refusalResponse({ options }: Refusal, format?: DenialFormat): Response {
  return errorResponse(options, format, options.headers)
}
