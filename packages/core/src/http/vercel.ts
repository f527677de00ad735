import type { WaitUntil } from '../internal/background.ts'

/** The key under which Vercel publishes the context of the current request on `globalThis`. */
const REQUEST_CONTEXT: unique symbol = Symbol.for('@vercel/request-context') as never

interface VercelGlobal {
  readonly [REQUEST_CONTEXT]?: {
    get?(): { waitUntil?(promise: Promise<unknown>): void } | undefined
  }
}

/**
 * Keeps background work running after the response of the current request on Vercel, where a function gets
 * no context. Does nothing elsewhere, because a server runs on.
 *
 * @example
 * import { waitUntil } from '@sluice/core/vercel'
 * const send = limitedFetch(limiter, { subject, waitUntil })
 */
export const waitUntil: WaitUntil = (promise) => {
  const host = (globalThis as VercelGlobal)[REQUEST_CONTEXT]
  host?.get?.()?.waitUntil?.(promise)
}
