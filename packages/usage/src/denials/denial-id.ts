import { tooManyRequests, type DenialFormat } from '@sluice/core/http'
import type { DeniedDecision } from '@sluice/core'
import { assertKnownOptions } from '@sluice/core/internal'
import { negotiatedFormat } from '@sluice/core/internal/http'
import { ownIdOf } from './denial.ts'
import { pendingDenial } from './record-denials.ts'

/** Options of `denialId`. */
export interface DenialIdOptions {
  /** The shape of the body, as that of the adapter. @default what the request accepts */
  readonly format?: DenialFormat
  /** The status of a denial by a used-up budget, as that of the adapter. @default 429 */
  readonly spentStatus?: 402 | 429
}

/**
 * Creates the option `onDenied` of an adapter, which answers a denial that is recorded with its id as `X-Request-Id`: that
 * of the request if it has one, else a new one. Others get the usual 429.
 *
 * @throws ConfigError When an option is unknown.
 * @example
 * export const proxy = rateLimit(limiter, { routes, subject, onDenied: denialId() })
 */
export function denialId(
  options: DenialIdOptions = {},
): (decision: DeniedDecision, request: Request) => Response | undefined {
  assertKnownOptions('denialId', options, ['format', 'spentStatus'])
  return (decision, request) => {
    const pending = pendingDenial(decision)
    if (!pending) return undefined
    pending.id = ownIdOf(request) ?? pending.id
    const { format = negotiatedFormat(request), spentStatus } = options
    const response = tooManyRequests(decision, { format, headers: false, spentStatus })
    response.headers.set('X-Request-Id', pending.id)
    return response
  }
}
