/* The stores of a world, and what they are like. */

/** The stores around the store of an isolate, the outermost first. */
export const WRAPPERS = {
  plain: [],
  pipelined: ['pipelined'],
  batched: ['batched'],
  cached: ['cached'],
  'cached, batched': ['cached', 'batched'],
  leased: ['leased'],
  'leased, batched': ['leased', 'batched'],
  'cached, leased': ['cached', 'leased'],
  breaker: ['breaker'],
  'leased, cached, breaker, batched': ['leased', 'cached', 'breaker', 'batched'],
  objects: [],
  'objects, cached': ['cached'],
  'objects, breaker': ['breaker'],
  sharded: [],
  'sharded, cached': ['cached'],
  'sharded, moving': [],
  'sharded, moving, cached': ['cached'],
  waiting: [],
  'waiting, cached': ['cached'],
  'waiting, batched': ['batched'],
  sharing: [],
  'sharing, cached': ['cached'],
  'sharing, batched': ['batched'],
  regional: [],
  'regional, cached': ['cached'],
} as const

/** True if Durable Objects count, instead of a Redis. */
export const isInObjects = (wrappers: WrapperName): boolean => wrappers.startsWith('objects')

/** True if several databases count. */
export const isSharded = (wrappers: WrapperName): boolean => wrappers.startsWith('sharded')

/** True if a database is added, or removed, in the middle. */
export const isMoving = (wrappers: WrapperName): boolean => wrappers.includes('moving')

/** True if two regions share what a third database counts. */
export const isRegional = (wrappers: WrapperName): boolean => wrappers.startsWith('regional')

/** True if each tenant has a place, and what is leased is counted in one for all. */
export const hasPlaces = (wrappers: WrapperName): boolean =>
  isInObjects(wrappers) || isSharded(wrappers) || isRegional(wrappers)

/** True if policies have lines, in which some requests wait. */
export const hasLines = (wrappers: WrapperName): boolean => wrappers.startsWith('waiting')

/** True if tenants share limits. */
export const hasShares = (wrappers: WrapperName): boolean => wrappers.startsWith('sharing')

/** The stores that are one Redis. */
export const IN_REDIS: readonly WrapperName[] = (Object.keys(WRAPPERS) as WrapperName[]).filter(
  (name) => !hasPlaces(name) && !hasLines(name) && !hasShares(name),
)

export type WrapperName = keyof typeof WRAPPERS
