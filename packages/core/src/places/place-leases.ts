/* The entry `place-leases`: leased policies of a store over places. */
import type { PlaceLeases } from '../stores/placed/placed-store.ts'
import type { Settling } from '../leases/held-calls.ts'
import { countedRules } from '../leases/lease.ts'
import { Tiers } from './tiers.ts'

/**
 * Lets a process decide about leased policies, such as a limit for everyone, in a store that is `sharded` or in the slots
 * of a Redis Cluster: it takes blocks of their units from the one store, `home`, that counts them for all tenants.
 *
 * @example
 * const store = sharded({ eu1: upstash({ … }), eu2: upstash({ … }) }, { leases: placeLeases })
 */
export const placeLeases: PlaceLeases = {
  name: 'placeLeases',

  create(home, own) {
    const tiers = new Tiers(home, own)
    return {
      countedRules,
      decide: (request) => tiers.decide(request),
      settle: (operation) => tiers.settle(operation as unknown as Settling),
      drop: (keys) => tiers.drop(keys),
      close: () => tiers.close(),
    }
  },
}
