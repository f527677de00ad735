/* The entry `place-leases`: leased policies of a store over places. */
import type { PlaceLeases } from '../stores/placed/placed-store.ts'
import { countedRules } from '../leases/lease.ts'
import { HomeUnits } from './home-units.ts'

/**
 * Lets a process decide about leased policies, such as a limit for everyone, in a store that is `sharded` or in the slots
 * of a Redis Cluster: it takes blocks of their units from the one store, `home`, that counts them for all tenants.
 *
 * @example
 * const store = sharded({ eu1: upstash({ … }), eu2: upstash({ … }) }, { leases: placeLeases })
 */
export const placeLeases: PlaceLeases = {
  name: 'placeLeases',

  create: (home, own) => Object.assign(new HomeUnits(home, own), { countedRules }),
}
