import { ConfigError } from '../errors.ts'
import { errorResponse, type DenialFormat } from './format.ts'

/** Why a request is turned away before any limit is asked, such as 401 for nobody's. */
export interface RefusalOptions {
  /** The HTTP status, 400 to 599. */
  readonly status: number
  /** What the client's code can tell it by, such as `unauthenticated`. */
  readonly code: string
  /** A sentence for the client's developer. */
  readonly message: string
  /** Further fields of the body, but for the format `openai`. */
  readonly details?: Readonly<Record<string, unknown>>
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
export function refusalResponse({ options }: Refusal, format?: DenialFormat): Response {
  return errorResponse(options, format, options.headers)
}
