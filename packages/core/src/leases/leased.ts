import type { PolicyRule } from '../policies/policy.ts'
import type { Settling } from './held-calls.ts'
import type { LeasedReservations } from './reserve-from-leases.ts'
import { noteWrapper } from '../internal/wrappers.ts'
import { assertKnownOptions, assertPositiveInteger, invalidOption } from '../internal/validation.ts'
import { isKept } from '../reservations/mark.ts'
import { assertStore, type Store } from '../stores/store.ts'
import { LeaseBook } from './lease-book.ts'
import { countedRules, isLeased, termsOf } from './lease.ts'
import { Serving } from './serving.ts'

/** Options of `leased`. */
export interface LeasedOptions {
  /** The most partitions to hold leases of. Past that, the oldest lease ends early. @default 10_000 */
  readonly maxLeases?: number
  /**
   * Takes the next block in the background when a lease runs low, so that in steady traffic no decision
   * waits for it. @default true
   */
  readonly fetchAhead?: boolean
  /**
   * `reserveFromLeases`: reservations are served by leases, too.
   *
   * @default the store charges them
   */
  readonly reservations?: LeasedReservations
}

/** A store that serves leased policies from blocks of units. Created by `leased`. */
export interface LeasedStore extends Store {
  /**
   * Ends all leases of this process and gives their unused units back, as before a shutdown. Never
   * throws: units that cannot be given back stay charged.
   */
  returnUnits(): Promise<void>
}

/**
 * Wraps a store so that it serves the policies made by `lease` from blocks of units that it takes in one
 * call. A decision that leases can answer makes no call. The other policies of a decision are checked by
 * the store; if they deny, the leased units go back to their lease.
 *
 * Shadows, and reservations without `reserveFromLeases`, are always counted by the store itself.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * const store = leased(upstash())
 * const limiter = createLimiter({ store, policies: [lease(slidingWindow({ … }), { duration: '2s' })] })
 * process.once('SIGTERM', () => void store.returnUnits().finally(() => process.exit()))
 */
export function leased(store: Store, options: LeasedOptions = {}): LeasedStore {
  assertStore('leased.store', store)
  assertKnownOptions('leased', options, ['maxLeases', 'fetchAhead', 'reservations'])
  const { maxLeases = 10_000, fetchAhead = true, reservations } = options
  if (reservations !== undefined && typeof reservations?.create !== 'function') {
    throw invalidOption('leased.reservations', 'must be reserveFromLeases')
  }
  const book = new LeaseBook(store, assertPositiveInteger('leased.maxLeases', maxLeases))
  const serving = new Serving(store, book, fetchAhead)
  const reserving = reservations?.create(store, book, serving)

  return noteWrapper<LeasedStore>({
    timeoutMs: store.timeoutMs,
    accept(policies) {
      store.accept?.(policies)
      assertOneIsLeased(policies)
    },

    async check(given) {
      const request = { ...given, policies: countedRules(given.policies) }
      const { mark, fit, apply, entries } = request
      // A reservation that is released if nobody settles it can be released by every process.
      if (reserving && apply && isKept(mark) && entries.some(isLeased)) {
        return reserving.reserve(request, mark)
      }
      return mark || fit ? store.check(request) : serving.check(request)
    },

    run(operation) {
      const settled = operation.kind.settles && reserving?.settle(operation as unknown as Settling)
      return (settled || store.run(operation)) as Promise<never>
    },

    async reset(keys) {
      try {
        await store.reset(keys)
      } finally {
        book.drop(keys)
      }
    },

    returnUnits: () => book.close(),
  })
}

/** @throws ConfigError When none of a limiter's rules is leased. */
function assertOneIsLeased(policies: readonly PolicyRule[]): void {
  if (policies.some(termsOf)) return
  throw invalidOption('policies', 'one must be leased: the store is leased(…)')
}
