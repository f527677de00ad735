import { durableObjects } from '@sluice/cloudflare/operator'
import { ConfigError, type Store } from '@sluice/core'
import { refuse, Refusal } from '@sluice/core/http'
import { upstash } from '@sluice/core/upstash'
import { assertUrl, type Env, type GatewayObjects, type StoreChange } from './env.ts'
import type { KeyVerifier } from './keys.ts'

/** The name of the store in Durable Objects. A Redis has that of its host. */
export const OBJECTS = 'objects'

/** The store with all keys and counts. */
export interface NamedStore {
  readonly name: string
  /** True if the setting `STORE` names it. */
  readonly isNamed: boolean
  readonly store: Store
}

/**
 * Returns the store of the settings: the Redis of `UPSTASH_REDIS_REST_URL`, or else Durable Objects. `STORE` decides
 * if it is set.
 *
 * @throws ConfigError When a setting is missing or wrong.
 */
export function storeOf(env: Env): NamedStore {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token, LIMITS, STORE } = env
  const timeoutMs = Number(env.STORE_TIMEOUT_MS ?? 1_000)
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw new ConfigError('invalid_option', 'STORE_TIMEOUT_MS', 'must be a whole number from 1')
  }
  const isNamed = Boolean(STORE)
  if (isNamed ? STORE === OBJECTS : !url && !token) {
    // Without the binding, this throws.
    const store = durableObjects(LIMITS as NonNullable<typeof LIMITS>, { timeoutMs })
    return { name: OBJECTS, isNamed, store }
  }
  if (!url || !token) {
    const missing = url ? 'UPSTASH_REDIS_REST_TOKEN' : 'UPSTASH_REDIS_REST_URL'
    const rule = `is not set: set both of UPSTASH_REDIS_REST_URL and _TOKEN, or STORE=${OBJECTS}`
    throw new ConfigError('missing_credentials', missing, rule)
  }
  assertUrl('UPSTASH_REDIS_REST_URL', url)
  const name = new URL(url).host
  if (isNamed && STORE !== name) {
    // Without the host: clients see this.
    const rule = `must be "${OBJECTS}" or the host of UPSTASH_REDIS_REST_URL`
    throw new ConfigError('invalid_option', 'STORE', rule)
  }
  return { name, isNamed, store: upstash({ url, token, timeoutMs }) }
}

const UNAVAILABLE = refuse({
  status: 503,
  code: 'store_unavailable',
  message: 'Nobody can tell at the moment in which store this gateway has counted.',
  headers: { 'Retry-After': '1' },
})

/**
 * Refuses requests while the settings lead to another store than the one in which this deployment has counted: every
 * key and budget would begin afresh there. The object `home` remembers the store from the first valid key on; each
 * isolate asks once. With `STORE`, nothing is refused, and nothing waits for the answer.
 */
export function inKnownStore(
  verify: KeyVerifier,
  { name, isNamed }: Omit<NamedStore, 'store'>,
  objects: GatewayObjects | undefined,
): KeyVerifier {
  // Upstash alone: nothing else could have counted here.
  if (!objects) return verify
  /** `undefined` until an answer, `null` if no store has counted. */
  let known: string | null | undefined

  async function ask(change: StoreChange): Promise<Refusal | undefined> {
    try {
      known = (await objects?.get(objects.idFromName('home')).countedIn(name, change)) ?? null
    } catch (error) {
      console.error(
        `The object "home" does not say in which store this gateway counts: ${String(error)}`,
      )
      return UNAVAILABLE
    }
    if (known === null || known === name) return undefined
    console.error(`Keys and budgets are in ${known}, and would begin afresh in ${name}.`)
    return refusalOf(name)
  }

  const isKnown = (): boolean => known === name

  return async (request) => {
    if (isNamed && !isKnown()) void ask('always')
    if (isNamed || isKnown()) return verify(request)
    if (typeof known === 'string') return refusalOf(name)
    const refusal = known === undefined ? await ask('never') : undefined
    if (refusal) return refusal
    const subject = await verify(request)
    if (subject instanceof Refusal || isKnown()) return subject
    return (await ask('first')) ?? subject
  }
}

const refusalOf = (name: string): Refusal =>
  refuse({
    status: 503,
    code: 'not_configured',
    message: `The keys and budgets of this gateway are in another store. Restore its settings, or begin afresh: set STORE to ${name === OBJECTS ? `"${OBJECTS}"` : 'the host of UPSTASH_REDIS_REST_URL'}.`,
    headers: { 'x-should-retry': 'false' },
  })
