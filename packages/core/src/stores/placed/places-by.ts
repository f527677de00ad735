/* The place that decides: the one of the value, such as a tenant's id, that keys contain. */
import type { PolicyRule } from '../../policies/policy.ts'
import type { Entry, Operation, StoreRequest } from '../store.ts'
import { invalidOption } from '../../internal/validation.ts'
import { assertPer } from '../../subject.ts'

/** The place of what has no value of the dimension, such as the settings of whole policies. */
export const HOME = 'home'

/** Returns true if the units of a rule are leased. */
export const isLeased = (rule: PolicyRule): boolean => 'lease' in rule

/** Finds the places of keys. */
export interface PlacesBy {
  /** The name of the store's factory, such as `durableObjects`. */
  readonly factory: string
  /** The way to lease there, such as `leases: objectLeases in its class`. */
  readonly leasing: string
  /** The dimension of which each value has a place. */
  readonly shardBy: string
  /** @throws ConfigError When a policy neither counts by the dimension nor is leased, by a store that leases. */
  accept(policies: readonly PolicyRule[], canLease: boolean): void
  readonly ofKey: (key: string) => string
}

/**
 * Finds places by the values of one dimension.
 *
 * @throws ConfigError When `shardBy` is neither `'global'`, one place for everything, nor the name of a dimension.
 */
export function placesBy(factory: string, shardBy: string, leasing: string): PlacesBy {
  const facts = { factory, leasing, shardBy }
  if (shardBy === 'global') return { ...facts, accept: () => {}, ofKey: () => HOME }
  assertPer(`${factory}.shardBy`, [shardBy])
  // Values in keys are escaped, so no other part of a key can begin like this.
  const inKey = new RegExp(`(?:^|:)${shardBy}=([^:]+)`)
  const inRecord = new RegExp(`^${shardBy}:([^:]+):`)

  return {
    ...facts,

    ofKey(key) {
      const value = inKey.exec(key)?.[1] ?? inRecord.exec(key)?.[1]
      return value === undefined ? HOME : `${shardBy}=${value}`
    },

    accept(policies, canLease) {
      for (const rule of policies) {
        const { name, per } = rule
        if (per !== 'global' && per.includes(shardBy)) continue
        if (isLeased(rule)) {
          if (canLease) continue
          throw invalidOption('store', `must have ${leasing}: policy "${name}" is leased`)
        }
        const message = `must count per "${shardBy}", which picks the place that decides, or be leased, as lease(${name}); or set shardBy: 'global' in ${factory}, for one place that decides everything`
        throw invalidOption(`policies.${name}.per`, message, String(per))
      }
    },
  }
}

/** A part of a call, with its place once that is known. */
export type Placed = Pick<Entry, 'key' | 'place'>

const firstAway = (places: readonly string[]): string =>
  places.find((place) => place !== HOME) ?? HOME

/** Returns the place of a decision: the one of its charges, because a settlement knows these alone. */
export function placeOfRequest(
  { ofKey }: PlacesBy,
  { entries, reads }: Pick<StoreRequest, 'entries' | 'reads'>,
): string {
  const parts: readonly Placed[] = entries.length > 0 ? entries : reads
  return firstAway(parts.map(({ key, place = ofKey(key) }) => place))
}

/** Returns the place of an operation. @throws ConfigError When its keys are of two. */
export function placeOfOperation(
  { ofKey, shardBy }: PlacesBy,
  { keys, near = [] }: Pick<Operation<unknown>, 'keys' | 'near'>,
): string {
  if (new Set(keys.map(ofKey).filter((place) => place !== HOME)).size > 1) {
    const message = `must all be of one "${shardBy}": no step spans two places`
    throw invalidOption('operation.keys', message)
  }
  return firstAway([...keys, ...near].map(ofKey))
}
