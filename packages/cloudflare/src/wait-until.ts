import type { WaitUntil } from '@sluice/core'
import { waitUntil as keepRunning } from 'cloudflare:workers'

/**
 * Keeps background work running after the response of the current request of a Worker, where no `ctx` is
 * at hand.
 *
 * @throws Error When no request is being handled, such as at module scope.
 * @example
 * import { waitUntil } from '@sluice/cloudflare/wait-until'
 * const send = limitedFetch(limiter, { subject, waitUntil })
 */
export const waitUntil: WaitUntil = (promise) => keepRunning(promise)
