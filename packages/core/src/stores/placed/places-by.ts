/* The place that decides: the one of the value, such as a tenant's id, that keys contain. */
import type { PolicyRule } from '../../policies/policy.ts'
import type { Operation, StoreRequest } from '../store.ts'
import { ConfigError } from '../../errors.ts'
import { assertPer } from '../../subject.ts'

/** The place of what has no value of the dimension, such as the settings of whole policies. */
export const HOME = 'home'

/** Returns true if the units of a rule are leased. */
export const isLeased = (rule: PolicyRule): boolean => 'lease' in rule

/** Finds places by one dimension. */
export interface PlacesBy {
  readonly factory: string
  readonly leasing: string
  /** @throws ConfigError When a policy neither counts by the dimension nor is leased, by a store that leases. */
  accept(policies: readonly PolicyRule[], canLease: boolean): void
  ofKey(key: string): string
  ofRequest(request: StoreRequest): string
  ofOperation(operation: Pick<Operation<unknown>, 'keys' | 'near'>): string
}

/**
 * @param factory The name of the store's factory, such as `durableObjects`.
 * @param leasing The way to lease there, such as `leases: objectLeases in its class`.
 * @throws ConfigError When `shardBy` is neither `'global'`, one place for everything, nor the name of a dimension.
 */
export function placesBy(factory: string, shardBy: string, leasing: string): PlacesBy {
  if (shardBy === 'global') {
    const ofAll = (): string => HOME
    return {
      factory,
      leasing,
      accept: () => {},
      ofKey: ofAll,
      ofRequest: ofAll,
      ofOperation: ofAll,
    }
  }
  assertPer(`${factory}.shardBy`, [shardBy])
  // Values in keys are escaped, so no other part of a key can begin like this.
  const inKey = new RegExp(`(?:^|:)${shardBy}=([^:]+)`)
  const inRecord = new RegExp(`^${shardBy}:([^:]+):`)

  function ofKey(key: string): string {
    const value = inKey.exec(key)?.[1] ?? inRecord.exec(key)?.[1]
    return value === undefined ? HOME : `${shardBy}=${value}`
  }

  function ofKeys(keys: readonly string[]): string {
    return keys.map(ofKey).find((one) => one !== HOME) ?? HOME
  }

  return {
    factory,
    leasing,
    ofKey,

    accept(policies, canLease) {
      for (const rule of policies) {
        const { name, per } = rule
        if (per !== 'global' && per.includes(shardBy)) continue
        if (isLeased(rule)) {
          if (canLease) continue
          throw new ConfigError(
            'invalid_option',
            'store',
            `must have ${leasing}: policy "${name}" is leased`,
          )
        }
        const message = `must count per "${shardBy}", which picks the place that decides, or be leased, as lease(${name}); or set shardBy: 'global' in ${factory}, for one place that decides everything`
        throw new ConfigError('invalid_option', `policies.${name}.per`, message, String(per))
      }
    },

    // Where its charges are: a settlement knows these alone.
    ofRequest: ({ entries, reads }) =>
      ofKeys((entries.length > 0 ? entries : reads).map(({ key }) => key)),

    ofOperation({ keys, near }) {
      const places = new Set(keys.map(ofKey).filter((one) => one !== HOME))
      if (places.size > 1) {
        const message = `must all be of one "${shardBy}": no step spans two places`
        throw new ConfigError('invalid_option', 'operation.keys', message)
      }
      return ofKeys([...keys, ...(near ?? [])])
    },
  }
}
