import { Refusal } from '@sluice/core/http'
import type { KeyVerifier } from './keys.ts'
import type { ProviderStates } from './provider-states.ts'

/** The time for which the answer of the store is remembered: health checks must not flood it. */
const REMEMBER_MS = 10_000

/** Nobody has this key: a look-up of it asks the store for one value, and writes nothing. */
const NO_KEY = `sk_${'0'.repeat(43)}`

/** Answers whether the gateway can serve calls. */
export type Health = () => Promise<Response>

/** Creates the answer of a gateway that is configured. @param providers The ids of those that are on. */
export function createHealth(
  verify: KeyVerifier,
  providers: readonly string[],
  states: ProviderStates,
  now: () => number = Date.now,
): Health {
  let askedAt = -Infinity
  let known: { refusal: Refusal['options'] | undefined; at: number } | undefined

  /** Asks the store, unless somebody has asked it a moment ago. */
  async function askStore(): Promise<void> {
    if (now() - askedAt < REMEMBER_MS) return
    askedAt = now()
    const headers = { authorization: `Bearer ${NO_KEY}` }
    const found = await verify(new Request('http://gateway.example', { headers }))
    // The key is refused where the store answers.
    const { options } = found instanceof Refusal ? found : { options: undefined }
    known = { refusal: options?.status === 401 ? undefined : options, at: now() }
  }

  return async () => {
    await askStore()
    const { code, message } = known?.refusal ?? {}
    if (code === 'not_configured') return unconfigured(message ?? '')
    const store = known
      ? {
          status: known.refusal ? 'unavailable' : 'answers',
          secondsAgo: Math.round((now() - known.at) / 1_000),
        }
      : { status: 'unknown' }
    const told = providers.map((id) => ({ id, last: states.last(id) }))
    return healthAnswer(known?.refusal ? 503 : 200, { configured: true, store, providers: told })
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
