/* A store over places: each decision is made in one of them, in one step. */
import type { PolicyRule } from '../../policies/policy.ts'
import type {
  Entry,
  Operation,
  RecordField,
  RecordRead,
  Store,
  StoreReply,
  StoreRequest,
} from '../store.ts'
import { isOutdated } from '../store.ts'
import { invalidOption } from '../../internal/validation.ts'
import { StoreError } from '../../errors.ts'
import {
  HOME,
  isLeased,
  placeOfOperation,
  placeOfRequest,
  type Placed,
  type PlacesBy,
} from './places-by.ts'

/** The part of a store over places that serves leased policies. */
export interface PlaceLeases {
  readonly name: 'placeLeases'
  /** @param own Decides what the place of a request counts itself. */
  create(
    home: Store,
    own: Pick<Store, 'run'> & {
      isAtHome(part: Placed): boolean
      decide(request: StoreRequest): Promise<StoreReply>
    },
  ): LeasedUnits
}

/** Leased policies, of which this process holds units. */
interface LeasedUnits {
  /** Returns a limiter's rules as stores count them. */
  countedRules(policies: readonly PolicyRule[]): readonly PolicyRule[]
  decide(request: StoreRequest): Promise<StoreReply>
  settle(operation: Operation<unknown>): Promise<unknown>
  drop(keys: readonly string[]): void
  close(): Promise<void>
}

type StoreOf = (place: string) => Store

/** A store over places. */
export interface PlacedStore extends Store {
  /**
   * Ends all leases of this process and gives their unused units back, as before a shutdown. Never throws: units that
   * cannot be given back stay charged.
   */
  returnUnits(): Promise<void>
}

/**
 * Creates a store that makes each decision in the place of its tenant, or of another dimension. Values in other places,
 * such as the settings of whole policies, are read beside the decision.
 *
 * @param storeOf Returns the store in a place.
 * @param leases The part that serves leased policies, or `'in places'` if these do so themselves.
 */
export function placedStore(
  places: PlacesBy,
  storeOf: StoreOf,
  leases?: PlaceLeases | 'in places',
): PlacedStore {
  const { ofKey } = places
  const run = async <Result>(operation: Operation<Result>): Promise<Result> =>
    storeOf(placeOfOperation(places, operation)).run(operation)
  const units = unitsOf(leases, places, storeOf, run)
  const accepted = new WeakSet<readonly PolicyRule[]>()

  function accept(policies: readonly PolicyRule[]): void {
    places.accept(policies, leases !== undefined)
    accepted.add(policies)
  }

  return {
    accept,

    placeOf({ policies, entries, reads }) {
      // Leases know more than one call.
      if (policies.some(isLeased) || entries.some(isOnLease)) return undefined
      const [place, ...others] = new Set([...entries, ...reads].map(({ key }) => ofKey(key)))
      return others.length > 0 ? undefined : place
    },

    async check(given) {
      const { entries, mark, policies } = given
      const isLease = entries.some(isOnLease)
      // A wrapper may have kept the question of `createLimiter` to itself, or count by other rules than the limiter's.
      if (entries[0] && policies[0] && !accepted.has(policies)) {
        if (isLease && !policies.some(isLeased)) {
          const rule = `must not be ${places.factory}(…): set ${places.leasing}`
          throw invalidOption('leased.store', rule)
        }
        accept(policies)
      }
      const alternatives = given.alternatives?.kind.within(given, places)
      const request = {
        ...given,
        policies: units ? units.countedRules(policies) : policies,
        entries:
          alternatives?.all[0]?.entries ??
          entries.map((entry) => Object.assign({}, entry, { place: ofKey(entry.key) })),
        alternatives,
      }
      const place = placeOfRequest(places, request)
      if (mark?.kind.releases) assertReleasable(request, place, units !== undefined)
      const decide = (asked: StoreRequest): Promise<StoreReply> =>
        units && isLease ? units.decide(asked) : decideIn(storeOf, place, asked)
      return decideWithReads(places, storeOf, place, request, decide)
    },

    run: <Result>(operation: Operation<Result>) =>
      units && operation.kind.settles
        ? (units.settle(operation) as Promise<Result>)
        : run(operation),

    async reset(keys) {
      const byPlace = grouped(keys, ofKey)
      try {
        await Promise.all(Array.from(byPlace, ([place, own]) => storeOf(place).reset(own)))
      } finally {
        units?.drop(keys)
      }
    },

    returnUnits: async () => units?.close(),
  }
}

/** Creates the part that serves leased policies. @throws ConfigError When the option is not `placeLeases`. */
function unitsOf(
  leases: PlaceLeases | 'in places' | undefined,
  places: PlacesBy,
  storeOf: StoreOf,
  run: Store['run'],
): LeasedUnits | undefined {
  if (leases === undefined || leases === 'in places') return undefined
  if (leases?.name !== 'placeLeases') {
    const option = `${places.factory}.leases`
    throw invalidOption(option, 'must be placeLeases', leases)
  }
  return leases.create(storeOf(HOME), {
    isAtHome: ({ key, place = places.ofKey(key) }) => place === HOME,
    decide: (request) => decideIn(storeOf, placeOfRequest(places, request), request),
    run,
  })
}

const isOnLease = ({ policy }: Entry): boolean => isLeased(policy)

async function decideIn(storeOf: StoreOf, place: string, request: StoreRequest) {
  try {
    return { place, ...(await storeOf(place).check(request)) }
  } catch (error) {
    if (error instanceof StoreError) error.origin = error.place ?? place
    throw error
  }
}

/** Decides in a place, with the records that it reads from others. */
async function decideWithReads(
  { ofKey }: PlacesBy,
  storeOf: StoreOf,
  place: string,
  request: StoreRequest,
  decide: (request: StoreRequest) => Promise<StoreReply>,
): Promise<StoreReply> {
  const { reads } = request
  const byPlace = grouped(reads, ({ key }) => ofKey(key))
  const readsHere = byPlace.get(place) ?? []
  if (readsHere.length === reads.length) return decide(request)
  byPlace.delete(place)
  const readsOnly = { ...request, entries: [], apply: false, mark: undefined, fit: undefined }
  const values = new Map<RecordField, string | undefined>()
  const read = async (fields: readonly RecordRead[], asked: Promise<StoreReply>) => {
    const reply = await asked
    for (const [at, field] of fields.entries()) values.set(field, reply.values[at])
    return reply
  }
  const known = (fields: readonly RecordRead[]) => fields.map((field) => values.get(field))
  // Before the decision: another place's record cannot stop a charge of this one.
  await Promise.all(
    Array.from(byPlace, ([other, fields]) =>
      read(fields, decideIn(storeOf, other, { ...readsOnly, reads: fields })),
    ),
  )
  const away = [...byPlace.values()].flat()
  const apply = request.apply && !isOutdated(away, known(away))
  const reply = await read(readsHere, decide({ ...request, apply, reads: readsHere }))
  return { ...reply, values: known(reads) }
}

/** @throws ConfigError When another place counts a policy of a reservation that is to be released. */
function assertReleasable({ entries }: StoreRequest, place: string, hasUnits: boolean): void {
  const elsewhere = entries.find((entry) => entry.place !== place || (hasUnits && isOnLease(entry)))
  if (!elsewhere) return
  const rule = `must be left out: the leased policy "${elsewhere.policy.name}" takes part`
  throw invalidOption('unsettled', rule)
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
