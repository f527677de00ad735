/* A store over places: each decision is made in one of them, in one step. */
import type { PolicyRule } from '../../policies/policy.ts'
import type { Operation, RecordField, Store, StoreReply, StoreRequest } from '../store.ts'
import { isOutdated } from '../store.ts'
import { ConfigError, StoreError } from '../../errors.ts'
import { HOME, isLeased, type PlacesBy } from './places-by.ts'

/** The part of a store over places that serves leased policies. */
export interface PlaceLeases {
  readonly name: 'placeLeases'
  /** @param own Decides what the place of a request counts itself. */
  create(
    home: Store,
    own: Pick<Store, 'run'> & {
      isAway(key: string): boolean
      decide(request: StoreRequest): Promise<StoreReply>
    },
  ): Tiers
}

/** Leased policies, of which this process holds units. */
interface Tiers {
  /** Returns a limiter's rules as stores count them. */
  countedRules(policies: readonly PolicyRule[]): readonly PolicyRule[]
  decide(request: StoreRequest): Promise<StoreReply>
  settle(operation: Operation<unknown>): Promise<unknown>
  drop(keys: readonly string[]): void
  close(): Promise<void>
}

/** A store over places. */
export interface PlacedStore extends Store {
  /**
   * Ends all leases of this process and gives their unused units back, as before a shutdown. Never throws: units that
   * cannot be given back stay charged.
   */
  returnUnits(): Promise<void>
}

/** Groups items by their place. */
function grouped<T>(items: readonly T[], placeOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const place = placeOf(item)
    groups.set(place, [...(groups.get(place) ?? []), item])
  }
  return groups
}

/**
 * Creates a store that makes each decision in the place of its tenant, or of another dimension. What other places have,
 * such as the settings of whole policies, is read beside the decision.
 *
 * @param storeOf Returns the store in a place.
 * @param leases The part that serves leased policies, or `'in places'` if these do so themselves.
 */
export function placedStore(
  places: PlacesBy,
  storeOf: (place: string) => Store,
  leases?: PlaceLeases | 'in places',
): PlacedStore {
  if (leases !== undefined && leases !== 'in places' && leases?.name !== 'placeLeases') {
    throw new ConfigError(
      'invalid_option',
      `${places.factory}.leases`,
      'must be placeLeases',
      leases,
    )
  }
  const run = async <Result>(operation: Operation<Result>): Promise<Result> =>
    storeOf(places.ofOperation(operation)).run(operation)
  const tiers =
    typeof leases === 'object'
      ? leases.create(storeOf(HOME), {
          isAway: (key) => places.ofKey(key) === HOME,
          decide: (request) => decideIn(places.ofRequest(request), request),
          run,
        })
      : undefined

  /** @throws ConfigError When `leased(…)` around this store counts by other rules than the limiter's. */
  function assertNotLeasedOutside({ entries, policies }: StoreRequest): void {
    const isOutside = entries.some(({ policy, index }) => {
      const rule = policies[index]
      return isLeased(policy) && rule !== undefined && !isLeased(rule)
    })
    if (!isOutside) return
    const rule = `must not be ${places.factory}(…): set ${places.leasing}`
    throw new ConfigError('invalid_option', 'leased.store', rule)
  }

  /** @throws ConfigError When another place counts a policy of a reservation that is to be released. */
  function assertReleasable(place: string, { entries, mark }: StoreRequest): void {
    if (!mark?.kind.releases) return
    const away = entries.find(
      ({ key, policy }) => places.ofKey(key) !== place || (tiers && isLeased(policy)),
    )
    if (!away) return
    const rule = `must be left out: the leased policy "${away.policy.name}" takes part`
    throw new ConfigError('invalid_option', 'unsettled', rule)
  }

  async function decideIn(place: string, request: StoreRequest): Promise<StoreReply> {
    try {
      return { place, ...(await storeOf(place).check(request)) }
    } catch (error) {
      if (error instanceof StoreError) error.origin = error.place ?? place
      throw error
    }
  }

  async function decide(place: string, request: StoreRequest): Promise<StoreReply> {
    return tiers && request.entries.some(({ policy }) => isLeased(policy))
      ? tiers.decide(request)
      : decideIn(place, request)
  }

  return {
    accept(policies) {
      places.accept(policies, leases !== undefined)
    },

    placeOf({ policies, entries, reads }) {
      // Leases know more than one call.
      if ([...policies, ...entries.map(({ policy }) => policy)].some(isLeased)) return undefined
      const of = new Set([...entries, ...reads].map(({ key }) => places.ofKey(key)))
      return of.size === 1 ? [...of][0] : undefined
    },

    async check(given) {
      assertNotLeasedOutside(given)
      const request = tiers ? { ...given, policies: tiers.countedRules(given.policies) } : given
      const { reads } = request
      const place = places.ofRequest(request)
      assertReleasable(place, request)
      const byPlace = grouped(reads, ({ key }) => places.ofKey(key))
      const here = byPlace.get(place) ?? []
      if (here.length === reads.length) return decide(place, request)
      byPlace.delete(place)
      const bare = { ...request, entries: [], apply: false, mark: undefined, fit: undefined }
      const values = new Map<RecordField, string | undefined>()
      const read = async (other: string, own: readonly RecordField[], asked: StoreRequest) => {
        const reply = await decide(other, { ...asked, reads: own })
        for (const [at, field] of own.entries()) values.set(field, reply.values[at])
        return reply
      }
      // Before the decision: another place's record cannot stop a charge of this one.
      await Promise.all(Array.from(byPlace, ([other, own]) => read(other, own, bare)))
      const known = () => reads.map((field) => values.get(field))
      const away = reads.filter((field) => !here.includes(field))
      const isStopped = isOutdated(
        away,
        away.map((field) => values.get(field)),
      )
      const reply = await read(place, here, isStopped ? { ...request, apply: false } : request)
      return { ...reply, values: known() }
    },

    run: <Result>(operation: Operation<Result>) =>
      tiers && operation.kind.settles
        ? (tiers.settle(operation) as Promise<Result>)
        : run(operation),

    async reset(keys) {
      const byPlace = grouped(keys, (key) => places.ofKey(key))
      try {
        await Promise.all(Array.from(byPlace, ([place, own]) => storeOf(place).reset(own)))
      } finally {
        tiers?.drop(keys)
      }
    },

    returnUnits: async () => tiers?.close(),
  }
}
