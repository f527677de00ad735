import { tooManyRequests } from '@sluice/core/http'
import type { DeniedDecision } from '@sluice/core'

/** The response that a client gets. */
export interface ShownAnswer {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** Returns the response to a denial, as `@sluice/core/http` makes it. */
export async function answerOf(decision: DeniedDecision): Promise<ShownAnswer> {
  const response = tooManyRequests(decision)
  return {
    status: response.status,
    headers: [...response.headers],
    body: JSON.stringify(await response.json(), undefined, 2),
  }
}

/** Returns a response as it is sent. */
export const answerText = ({ status, headers, body }: ShownAnswer): string =>
  [
    `HTTP/1.1 ${status} Too Many Requests`,
    ...headers.map((header) => header.join(': ')),
    '',
    body,
  ].join('\n')
