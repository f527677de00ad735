/* The stores of `sharded` by name, and the choice of the one that counts a place. */
import { hash } from '../internal/hash.ts'
import { assertKnownOptions, assertName, invalidOption } from '../internal/validation.ts'
import { HOME } from '../stores/placed/places-by.ts'

type Weights = Readonly<Partial<Record<string, number>>>

/** A store's name and its part of the tenants. */
interface Weighted {
  readonly name: string
  readonly weight: number
}

/** The stores that count at a time. */
export interface ShardList {
  readonly shards: readonly Weighted[]
  /** The name of the store for what has no tenant, if it is not found by hashing. */
  readonly home: string | undefined
}

/**
 * Returns the list of these names.
 *
 * @param option The option that has them, such as `sharded`.
 * @throws ConfigError When none may count, or a name or weight is malformed.
 */
export function shardList(
  option: string,
  names: readonly string[],
  weights: Weights,
  home: string | undefined,
): ShardList {
  assertKnownOptions(`${option}.weights`, weights, names)
  const twice = names.find((name, at) => names.indexOf(name) < at)
  if (twice !== undefined) {
    throw invalidOption(`${option}.stores`, 'must have each name once', twice)
  }
  const shards = names.map((name): Weighted => {
    assertName(`${option}.stores`, name)
    const { [name]: weight = 1 } = weights
    if (typeof weight !== 'number' || !(weight >= 0 && weight <= 1_000)) {
      throw invalidOption(`${option}.weights.${name}`, 'must be a number from 0 to 1000', weight)
    }
    return { name, weight }
  })
  if (home !== undefined && !names.includes(home)) {
    throw invalidOption(`${option}.home`, `must be the name of a store: ${names.join(', ')}`, home)
  }
  if (shards.some(({ weight }) => weight > 0)) return { shards, home }
  throw invalidOption(`${option}.stores`, 'must have a store with a weight above 0')
}

/**
 * Returns the name of the store that counts a place: the one with the highest score. See Thaler and Ravishankar, "Using
 * name-based mappings to increase hit rates" (1998); the logarithm makes the chance of each its share of the weights.
 */
export function chooseShard(place: string, { shards, home }: ShardList): string {
  if (place === HOME && home !== undefined) return home
  const scores = shards.map(({ name, weight }) => {
    // Above 0 and below 1.
    const chance = (hash(`${name}/${place}`) + 0.5) / 2 ** 32
    return weight / -Math.log(chance)
  })
  return (shards[scores.indexOf(Math.max(...scores))] as Weighted).name
}

/** The text of a list, the same for all lists that have each place in the same store. */
export function textOf(list: ShardList): string {
  const names = list.shards
    .filter(({ weight }) => weight > 0)
    .map(({ name, weight }) => (weight === 1 ? name : `${name} (weight ${weight})`))
    .toSorted()
  return `${names.join(', ')}; home ${chooseShard(HOME, list)}`
}
