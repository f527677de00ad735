/* The object that decides: the one of the value, such as a tenant's id, that keys contain. */
import { ConfigError, type Operation, type PolicyRule, type StoreRequest } from '@sluice/core'
import { assertPer, termsOf } from '@sluice/core/internal/places'

/** The place of what has no value of the dimension, such as the settings of whole policies. */
export const HOME = 'home'

/** Returns the parts of the name of an object: `prefix/tenant=acme`, `tenant=acme`, `home`. */
export function parseName(name: string): {
  readonly prefix: string | undefined
  readonly place: string
  readonly shardBy: string | undefined
} {
  const [, prefix, place = name] = /^(?:([^/=]*)\/)?([^]*)$/.exec(name) ?? []
  const [, shardBy] = /^([^=]*)=/.exec(place) ?? []
  return { prefix, place, shardBy }
}

/** Finds places by one dimension. */
export interface PlacesBy {
  /** @throws ConfigError When a policy does not count by the dimension. */
  accept(policies: readonly PolicyRule[]): void
  ofKey(key: string): string
  ofRequest(request: StoreRequest): string
  ofOperation(operation: Pick<Operation<unknown>, 'keys' | 'near'>): string
}

/** One place for everything. */
const ONE_PLACE: PlacesBy = {
  accept: () => {},
  ofKey: () => HOME,
  ofRequest: () => HOME,
  ofOperation: () => HOME,
}

/** @throws ConfigError When `shardBy` is neither `'global'` nor the name of a dimension. */
export function placesBy(shardBy: string): PlacesBy {
  if (shardBy === 'global') return ONE_PLACE
  assertPer('durableObjects.shardBy', [shardBy])
  // Values in keys are escaped, so no other part of a key can begin like this.
  const inKey = new RegExp(`(?:^|:)${shardBy}=([^:]+)`)
  const inRecord = new RegExp(`^${shardBy}:([^:]+):`)

  function ofKey(key: string): string {
    const value = inKey.exec(key)?.[1] ?? inRecord.exec(key)?.[1]
    return value === undefined ? HOME : `${shardBy}=${value}`
  }

  function ofKeys(keys: readonly string[]): string {
    return keys.map(ofKey).find((place) => place !== HOME) ?? HOME
  }

  return {
    ofKey,

    accept(policies) {
      for (const policy of policies) {
        const { name, per } = policy
        if ((per !== 'global' && per.includes(shardBy)) || termsOf(policy)) continue
        const rule = `must count per "${shardBy}", which picks the object that decides, or be leased, as lease(${name}); or set shardBy: 'global' in durableObjects, for one object that decides everything`
        throw new ConfigError('invalid_option', `policies.${name}.per`, rule, String(per))
      }
    },

    // Where its charges are: a settlement knows these alone.
    ofRequest: ({ entries, reads }) =>
      ofKeys((entries.length > 0 ? entries : reads).map(({ key }) => key)),

    ofOperation({ keys, near }) {
      const places = new Set(keys.map(ofKey).filter((place) => place !== HOME))
      if (places.size > 1) {
        const rule = `must all be of one "${shardBy}": no step spans two objects`
        throw new ConfigError('invalid_option', 'operation.keys', rule)
      }
      return ofKeys([...keys, ...(near ?? [])])
    },
  }
}
