import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'
import { createMemory, MAX_KEYS } from './memory-store.ts'
import type { Store } from './store.ts'

/** Options of `memory`. */
export interface MemoryOptions {
  /**
   * The most partitions to count, and the most plans and reservations to keep beside them, as well as the most
   * settlements to remember. Past that, the least recently used is dropped. @default 10_000
   */
  readonly maxKeys?: number
}

/** The number of stores after which they are likely to be made for each request, and so to limit nobody. */
const MANY_STORES = 1_000
let storeCount = 0

/**
 * Creates a store in this process's memory, for development, tests and single-process servers.
 * Processes and isolates do not share it.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * const limiter = createLimiter({ store: memory(), policies })
 */
export function memory(options: MemoryOptions = {}): Store {
  assertKnownOptions('memory', options, ['maxKeys'])
  const maxKeys = assertPositiveInteger('memory.maxKeys', options.maxKeys ?? MAX_KEYS)
  storeCount += 1
  if (storeCount === MANY_STORES) {
    console.warn(
      `Sluice: memory() was called ${MANY_STORES} times, and each store counts alone: create limiters once, not for each request`,
    )
  }
  return createMemory(maxKeys)
}
