/* The function `sharded`: a store of several stores, each of which has its own tenants. */
import { systemClock } from '../clock.ts'
import type { ConfigError } from '../errors.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { assertKnownOptions, assertOptions, invalidOption } from '../internal/validation.ts'
import { noteWrapper } from '../internal/wrappers.ts'
import { assertStore, type Store } from '../stores/store.ts'
import { placedStore, type PlacedStore, type PlaceLeases } from '../stores/placed/placed-store.ts'
import { placesBy } from '../stores/placed/places-by.ts'
import { Joining, type Member } from './joining.ts'
import { named } from './named-store.ts'
import { ENDED } from './shard-record.ts'
import { chooseShard, shardList, textOf, type ShardList } from './choose-shard.ts'

export type { PlacedStore, PlaceLeases } from '../stores/placed/placed-store.ts'

/** The stores before a change, and the part that moves their tenants. */
export interface MovedFrom extends ShardList {
  readonly name: 'movedFrom'
  /** Returns a function that creates the store of a place that has moved. */
  create(): (place: string, from: Store, to: Store) => Store
}

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
  /**
   * `movedFrom({ stores: […] })` of `@sluice/core/moves`: the stores before a change, of which tenants take their counts
   * along. `'ended'` once all have. @default a store that has another list refuses to decide
   */
  readonly from?: MovedFrom | 'ended'
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
  assertKnownOptions('sharded', options, ['shardBy', 'weights', 'home', 'leases', 'from'])
  const { shardBy = 'tenant', weights = {}, home, leases, from } = options
  const names = Object.keys(stores)
  const list = shardList('sharded', names, weights, home)
  const before = from && from !== ENDED ? listBefore(from, names, list) : undefined
  const places = placesBy('sharded', shardBy, 'leases: placeLeases in sharded')
  const members = list.shards.map(({ name }) => {
    const given = assertStore(`sharded.stores.${name}`, stores[name as Name])
    return { name, given, store: named(name, given) }
  })
  const lists = {
    shardBy,
    list: textOf(list),
    before: before ? textOf(before) : from === ENDED ? ENDED : '',
  }
  const joining = new Joining(lists, members)
  const shards = new Map(members.map((member) => [member.name, joined(member, joining)]))
  const move = before?.create()
  const recent = new RecentItems<Store>(MAX_PLACES)

  function storeOf(place: string): Store {
    const known = recent.get(place)
    if (known) return known
    const name = chooseShard(place, list)
    const nameBefore = before ? chooseShard(place, before) : name
    const store = shards.get(name) as Store
    const found =
      move && name !== nameBefore ? move(place, shards.get(nameBefore) as Store, store) : store
    recent.set(place, found)
    return found
  }

  const store = placedStore(places, storeOf, leases)
  return noteWrapper({
    ...store,
    accept(policies) {
      store.accept?.(policies)
      for (const { given } of members) given.accept?.(policies)
    },
  })
}

/** The most places of which to remember the store. */
const MAX_PLACES = 10_000

/** @throws ConfigError When `from` was not created by `movedFrom`, names a store that is not here, or is the list of now. */
function listBefore(from: MovedFrom, names: readonly string[], now: ShardList): MovedFrom {
  if (from?.name !== 'movedFrom') {
    throw invalidFrom("must be created by movedFrom of @sluice/core/moves, or 'ended'")
  }
  const gone = from.shards.find(({ name }) => !names.includes(name))
  if (gone) {
    const { name } = gone
    const rule = `names "${name}": keep it among the stores, with weights: { ${name}: 0 }, until its tenants have moved`
    throw invalidFrom(rule)
  }
  const before = { ...from, home: from.home ?? now.home }
  if (textOf(before) === textOf(now)) throw invalidFrom('is the list of now: leave it out')
  return before
}

const invalidFrom = (rule: string): ConfigError => invalidOption('sharded.from', rule)

/** Returns the store of a member, which is first asked whether it has this process' list of stores. */
function joined(member: Member, joining: Joining): Store {
  const { store } = member
  return {
    async check(request) {
      if (!member.hasJoined) await joining.join(member, request.startedAt)
      return store.check(request)
    },
    async run(operation) {
      if (!member.hasJoined) await joining.join(member, operation.startedAt)
      return store.run(operation)
    },
    async reset(keys) {
      if (!member.hasJoined) await joining.join(member, systemClock())
      await store.reset(keys)
    },
  }
}
