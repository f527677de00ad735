import { StoreError, type Operation, type Store } from '@sluice/core'
import {
  assertKnownOptions,
  assertName,
  assertOneOf,
  assertPositiveInteger,
  invalidOption,
} from '@sluice/core/internal'
import { checkMessage, resetMessage, runMessage, type Answer } from '@sluice/core/internal/journal'
import { placedStore, withDeadline } from '@sluice/core/internal/places'
import { objectsBy } from './names.ts'
import { refusalOf } from './place.ts'

/** The regions that `locationHint` may name. */
const LOCATION_HINTS = ['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me'] as const

/** The binding of a class that extends `LimitsObject`, as Wrangler types it: `DurableObjectNamespace<LimitsObject>`. */
export interface LimitsNamespace {
  idFromName(name: string): DurableObjectId
  get(
    id: DurableObjectId,
    options?: DurableObjectNamespaceGetDurableObjectOptions,
  ): { sluice(message: string): Promise<Answer> }
}

/** Options of `durableObjects`. */
export interface DurableObjectsOptions {
  /**
   * The dimension of which each value has an object of its own. Every policy must count by it. `'global'` is one
   * object for everything, which decides about 1,000 times a second at most. @default 'tenant'
   */
  readonly shardBy?: string
  /**
   * The region in which a new object is placed. An object never moves.
   *
   * @default near the request that first asks for it
   */
  readonly locationHint?: (typeof LOCATION_HINTS)[number]
  /** The first part of the names of objects, for apps that share a class. Letters, digits, `_`, `.`, `-`. @default none */
  readonly prefix?: string
  /**
   * The time limit of one decision, in milliseconds. After it, the limiter's `onStoreError` applies. The first
   * decision of an object includes its start. @default 1_000
   */
  readonly timeoutMs?: number
}

/**
 * Creates a store in Durable Objects: no Redis, no account beside Cloudflare's. Each tenant has an object, which decides
 * in one call. See `docs/without-redis.md`.
 *
 * @param namespace The binding of the class `LimitsObject`, such as `env.LIMITS`.
 * @throws ConfigError When the binding is missing, or an option is unknown or out of range.
 * @example
 * import { env } from 'cloudflare:workers'
 *
 * export { LimitsObject } from '@sluice/cloudflare/durable-object'
 * const limiter = createLimiter({ store: durableObjects(env.LIMITS), policies })
 */
export function durableObjects(
  namespace: LimitsNamespace,
  options: DurableObjectsOptions = {},
): Store {
  if (typeof (namespace as Partial<LimitsNamespace> | undefined)?.idFromName !== 'function') {
    const rule =
      'must be the binding of a Durable Object, such as env.LIMITS; declare it in the configuration of Wrangler'
    throw invalidOption('durableObjects.namespace', rule, namespace)
  }
  assertKnownOptions('durableObjects', options, ['shardBy', 'locationHint', 'prefix', 'timeoutMs'])
  const { shardBy = 'tenant', locationHint, prefix, timeoutMs = 1_000 } = options
  if (prefix !== undefined) assertName('durableObjects.prefix', prefix)
  assertPositiveInteger('durableObjects.timeoutMs', timeoutMs)
  if (locationHint !== undefined) {
    assertOneOf('durableObjects.locationHint', locationHint, LOCATION_HINTS)
  }
  const places = objectsBy(shardBy)

  /** Sends a message to the object of a place. It is never repeated: it may have been done. */
  async function send(place: string, message: string, startedAt: number): Promise<Answer> {
    const call = async (): Promise<Answer> => {
      try {
        // A stub that has failed once is of no more use.
        const id = namespace.idFromName(prefix === undefined ? place : `${prefix}/${place}`)
        const object = namespace.get(id, locationHint === undefined ? {} : { locationHint })
        return await object.sluice(message)
      } catch (error) {
        throw failureOf(error)
      }
    }
    const answer = await withDeadline(timeoutMs, startedAt, call)
    if ('refusal' in answer) throw refusalOf(answer)
    if ('failure' in answer) throw new StoreError(answer.failure.code, answer.failure.message)
    return answer
  }

  const storeOf = (place: string): Store => ({
    async check(request) {
      const answer = await send(place, checkMessage(request), request.startedAt)
      if ('reply' in answer) return answer.reply
      throw refusalOf(answer)
    },

    async run<Result>(operation: Operation<Result>) {
      const answer = await send(place, runMessage(operation), operation.startedAt)
      return ('result' in answer ? answer.result : undefined) as Result
    },

    async reset(keys) {
      await send(place, resetMessage(keys), Date.now())
    },
  })
  return placedStore(places, storeOf, 'in places')
}

/** Explanations of the platform's errors, by a part of their text. */
const REFUSALS: readonly (readonly [text: RegExp, means: string])[] = [
  [
    /SQL is not enabled/,
    'needs SQLite storage: declare its class in "exports" or "new_sqlite_classes" of Wrangler\'s configuration',
  ],
  [/does not (implement|support)/, 'is of a class that does not extend LimitsObject'],
]

/** Returns the failure of a call to an object. */
function failureOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const { overloaded, durableObjectReset, message } = (error ?? {}) as {
    readonly overloaded?: boolean
    readonly durableObjectReset?: boolean
    readonly message?: unknown
  }
  const means = REFUSALS.find(([text]) => text.test(String(message)))?.[1]
  if (means) return new StoreError('store_refused', `The Durable Object ${means}`)
  if (overloaded) return new StoreError('store_refused', 'The Durable Object is overloaded')
  const what = durableObjectReset ? 'was restarted' : 'cannot be reached'
  return new StoreError('store_unreachable', `The Durable Object ${what}`)
}
