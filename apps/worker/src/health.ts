import type { Limiter } from '@sluice/core'
import type { ProviderStates } from './provider-states.ts'

/** The time for which the answer of the store is remembered: health checks must not flood it. */
const REMEMBER_MS = 10_000

/** No tenant has this name, and nothing is written for it. */
const NOBODY = {
  tenant: 'health',
  team: undefined,
  user: undefined,
  key: undefined,
  run: undefined,
}

/** Answers whether the gateway can serve calls. */
export type Health = () => Promise<Response>

/** Creates the answer of a gateway that is configured. @param providers The id of each, and whether it has a key. */
export function createHealth(
  limiter: Limiter,
  providers: readonly { readonly id: string; readonly configured: boolean }[],
  states: ProviderStates,
  now: () => number = Date.now,
): Health {
  let askedAt = -Infinity
  let known: { answers: boolean; at: number } | undefined

  /** Asks the store, unless somebody has asked it a moment ago. */
  async function askStore(): Promise<void> {
    if (now() - askedAt < REMEMBER_MS) return
    askedAt = now()
    const answers = await limiter.peek(NOBODY).then(
      ({ degraded }) => !degraded,
      () => false,
    )
    known = { answers, at: now() }
  }

  return async () => {
    await askStore()
    const isUp = known?.answers ?? true
    const store = known
      ? {
          status: known.answers ? 'answers' : 'unavailable',
          secondsAgo: Math.round((now() - known.at) / 1_000),
        }
      : { status: 'unknown' }
    const told = providers.map(({ id, configured }) => ({ id, configured, last: states.last(id) }))
    return healthAnswer(isUp ? 200 : 503, { configured: true, store, providers: told })
  }
}

/** Answers for a gateway that lacks a setting. */
export const unconfigured = (message: string): Response =>
  healthAnswer(503, { configured: false, message })

const healthAnswer = (status: number, facts: object): Response =>
  Response.json(
    { status: status === 200 ? 'ok' : 'unavailable', ...facts },
    { status, headers: { 'cache-control': 'no-store' } },
  )
