/* The function `sharded`: a store of several stores, each of which has its own tenants. */
import type { Store } from '../store.ts'
import { ConfigError, StoreError } from '../../errors.ts'
import { hash } from '../../internal/hash.ts'
import { assertKnownOptions, assertName, assertOptions } from '../../internal/validation.ts'
import { noteWrapper } from '../../internal/wrappers.ts'
import { assertStore } from '../store.ts'
import { placedStore, type PlacedStore, type PlaceLeases } from './placed-store.ts'
import { HOME, placesBy } from './places-by.ts'

export type { PlacedStore, PlaceLeases } from './placed-store.ts'

/** Options of `sharded`. */
export interface ShardedOptions<Name extends string = string> {
  /**
   * The dimension of which each value, such as each tenant, has one of the stores. Every policy must count by it, or be
   * leased. @default 'tenant'
   */
  readonly shardBy?: string
  /**
   * The part of each store: one with 2 has twice as many tenants as one with 1. One with 0 has none. From 0 to 1,000.
   * @default 1
   */
  readonly weights?: Readonly<Partial<Record<Name, number>>>
  /**
   * The store of what has no tenant: limits for everyone, settings of whole policies, usage. Name it, so that it does not
   * move when you add a store. @default the one that hashing finds
   */
  readonly home?: Name
  /** `placeLeases` of `@sluice/core/place-leases`, for policies that are leased. @default they are refused */
  readonly leases?: PlaceLeases
}

/**
 * Creates a store of several stores, such as databases in Redis. Each tenant is counted in one of them, which is found
 * by rendezvous hashing of the stores' names: another store takes its tenants from all others evenly, and no other tenant
 * moves. If one fails, its own tenants alone are decided by `onStoreError`.
 *
 * @param stores The stores by name. A name decides which tenants are there: keep it when an address changes. Letters,
 * digits, `_`, `.`, `-`.
 * @throws ConfigError When there is no store, or a name or option is unknown or malformed.
 * @example
 * const store = sharded({ eu1: upstash({ … }), eu2: upstash({ … }) })
 * const limiter = createLimiter({ store, policies })
 */
export function sharded<Name extends string>(
  stores: Readonly<Record<Name, Store>>,
  options: ShardedOptions<Name> = {},
): PlacedStore {
  assertOptions('sharded.stores', stores)
  assertKnownOptions('sharded', options, ['shardBy', 'weights', 'home', 'leases'])
  const { shardBy = 'tenant', weights = {}, home, leases } = options
  const shards = shardsOf(stores, weights)
  const homeShard = home && shards.find(({ name }) => name === home)
  if (home !== undefined && !homeShard) {
    const rule = `must be the name of a store: ${Object.keys(stores).join(', ')}`
    throw new ConfigError('invalid_option', 'sharded.home', rule, home)
  }
  const places = placesBy('sharded', shardBy, 'leases: placeLeases in sharded')
  const storeOf = (place: string): Store =>
    ((place === HOME && homeShard) || shardOf(place, shards)).store
  const store = placedStore(places, storeOf, leases)
  return noteWrapper({
    ...store,
    accept(policies) {
      store.accept?.(policies)
      for (const shard of shards) shard.store.accept?.(policies)
    },
  })
}

interface Shard {
  readonly name: string
  readonly weight: number
  readonly store: Store
}

/** @throws ConfigError When there is none to count in, or a name or weight is malformed. */
function shardsOf(
  stores: Readonly<Record<string, Store>>,
  weights: Readonly<Partial<Record<string, number>>>,
): readonly Shard[] {
  assertKnownOptions('sharded.weights', weights, Object.keys(stores))
  const shards = Object.entries(stores).map(([name, store]) => {
    assertName('sharded.stores', name)
    const { [name]: weight = 1 } = weights
    if (typeof weight !== 'number' || !(weight >= 0 && weight <= 1_000)) {
      const rule = 'must be a number from 0 to 1000'
      throw new ConfigError('invalid_option', `sharded.weights.${name}`, rule, weight)
    }
    return { name, weight, store: named(name, assertStore(`sharded.stores.${name}`, store)) }
  })
  if (shards.some(({ weight }) => weight > 0)) return shards
  const rule = 'must have a store with a weight above 0'
  throw new ConfigError('invalid_option', 'sharded.stores', rule)
}

/**
 * Returns the store that counts a place: the one with the highest score. See Thaler and Ravishankar, "Using name-based
 * mappings to increase hit rates" (1998); the logarithm makes the chance of each its share of the weights.
 */
function shardOf(place: string, shards: readonly Shard[]): Shard {
  const scores = shards.map(({ name, weight }) => {
    // Above 0 and below 1.
    const chance = (hash(`${name}/${place}`) + 0.5) / 2 ** 32
    return weight / -Math.log(chance)
  })
  return shards[scores.indexOf(Math.max(...scores))] as Shard
}

/** Returns a store whose replies and errors name it. */
function named(name: string, store: Store): Store {
  const failed = (error: unknown): never => {
    if (!(error instanceof StoreError)) throw error
    const text = error.message.replace(/^Sluice: | \(docs\/errors\.md#\w+\)$/g, '')
    throw Object.assign(new StoreError(error.code, `${name}: ${text}`, error.status), {
      place: name,
    })
  }
  return {
    accept: store.accept,
    check: async (request) => ({ ...(await store.check(request).catch(failed)), place: name }),
    run: (operation) => store.run(operation).catch(failed),
    reset: (keys) => store.reset(keys).catch(failed),
  }
}
