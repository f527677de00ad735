/* The entry `moves`: tenants that another store of `sharded` counts from now on take their counts along. */
import type { MovedFrom } from './sharded.ts'
import { systemClock } from '../clock.ts'
import { decisionsOf, type Operation, type Store } from '../stores/store.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { assertKnownOptions, assertOptions, invalidOption } from '../internal/validation.ts'
import { withMarkers, type Copy } from './fence.ts'
import { ARRIVE, DEPART, FIND_ARRIVED, FORGET } from './hand-over.ts'
import { shardList } from './choose-shard.ts'

export type { MovedFrom } from './sharded.ts'

/** Options of `movedFrom`: those of `sharded`, as they were. */
export interface MovedFromOptions {
  /** The names of the stores that counted. Each must still be among those of `sharded`, if only with the weight 0. */
  readonly stores: readonly string[]
  /** Their weights. From 0 to 1,000. @default 1 each */
  readonly weights?: Readonly<Record<string, number>>
  /** The store of what has no tenant. @default `home` of `sharded`, or else the one that hashing found */
  readonly home?: string
}

/** The most keys to remember that have moved. Past that, those not used lately are asked for again. */
const MAX_KEYS = 10_000

/**
 * Describes the list of stores of `sharded` before a change: tenants that another store counts from now on take their counts,
 * reservations, settings and plans along when they next ask. Once all have, and no process of the old list runs, set
 * `from: 'ended'` instead. See `docs/more-than-one-redis.md`.
 *
 * @throws ConfigError When there is no store, or a name or option is unknown or malformed.
 * @example
 * const store = sharded({ eu1, eu2, eu3 }, { from: movedFrom({ stores: ['eu1', 'eu2'] }) })
 * @example
 * const without = sharded({ eu1, eu2 }, { weights: { eu2: 0 }, from: movedFrom({ stores: ['eu1', 'eu2'] }) })
 */
export function movedFrom(options: MovedFromOptions): MovedFrom {
  assertOptions('movedFrom', options)
  assertKnownOptions('movedFrom', options, ['stores', 'weights', 'home'])
  const { stores, weights = {}, home } = options
  if (!Array.isArray(stores)) {
    throw invalidOption('movedFrom.stores', 'must be a list of names', stores)
  }
  const list = shardList('movedFrom', stores as readonly string[], weights, home)
  return Object.freeze<MovedFrom>({ name: 'movedFrom', ...list, create: moves })
}

/** Returns a function that creates the store of a place that has moved. */
function moves(): ReturnType<MovedFrom['create']> {
  // Keys of all places: each has the name of its own.
  const arrived = new RecentItems<true>(MAX_KEYS)

  return (place, from, to) => {
    async function run<Result>(
      store: Store,
      kind: Operation<Result>['kind'],
      keys: readonly string[],
      startedAt: number,
      data?: unknown,
    ): Promise<Result> {
      return store.run({ kind, keys: withMarkers(keys), near: [place], data, startedAt })
    }

    /**
     * Makes sure that the old store's values of these keys have arrived.
     *
     * @param records Keys of records, which processes of the old list go on reading.
     */
    async function fetch(
      keys: readonly string[],
      startedAt: number,
      records: readonly string[] = [],
    ): Promise<void> {
      const unknown = [...new Set([...keys, ...records])].filter((key) => !arrived.get(key))
      if (unknown.length === 0) return
      const areHere = await run(to, FIND_ARRIVED, unknown, startedAt)
      const missing = unknown.filter((_, at) => areHere[at] !== true)
      if (missing.length > 0) {
        const areRecords = missing.map((key) => records.includes(key))
        const copies = await run(from, DEPART, missing, startedAt, areRecords)
        await run(to, ARRIVE, missing, startedAt, copies)
        const lasting = missing.filter((_, at) => isLasting(copies[at] as Copy))
        // If it fails, they stay there, and nobody reads them.
        if (lasting.length > 0) await run(from, FORGET, lasting, startedAt).catch(() => {})
      }
      for (const key of unknown) arrived.set(key, true)
    }

    return {
      async check(request) {
        const { reads, startedAt } = request
        const decisions = decisionsOf(request)
        const markKeys = decisions.map(({ mark }) => mark?.keys ?? [])
        // The ids are new, so their marks are nowhere yet.
        for (const key of markKeys.map((keys) => keys.at(-1))) if (key) arrived.set(key, true)
        const counts = decisions.flatMap(({ entries }) => entries.map(({ key }) => key))
        counts.push(...markKeys.flatMap((keys) => keys.slice(0, -1)))
        const records = reads.map(({ key }) => key)
        await fetch(counts, startedAt, records)
        return to.check(request)
      },

      async run(operation) {
        const { kind, keys, startedAt } = operation
        await (kind.writesRecords ? fetch([], startedAt, keys) : fetch(keys, startedAt))
        return to.run(operation)
      },

      async reset(keys) {
        await fetch(keys, systemClock())
        await to.reset(keys)
      },
    }
  }
}

/** Returns true if the copy is of a value in Redis that never expires. In memory, nothing has to be forgotten. */
const isLasting = (copy: Copy): boolean => 'ttlMs' in copy && copy.ttlMs < 0
