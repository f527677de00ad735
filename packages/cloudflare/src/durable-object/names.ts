/* The names of objects. */
import { placesBy, type PlacesBy } from '@sluice/core/internal/places'

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

/** @throws ConfigError When `shardBy` is neither `'global'` nor the name of a dimension. */
export const objectsBy = (shardBy: string): PlacesBy =>
  placesBy('durableObjects', shardBy, 'leases: objectLeases in the class of its objects')
