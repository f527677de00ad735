import type { World } from './model/state.ts'

const EVERYTHING = {
  lose: true,
  die: true,
  changePlan: true,
  reset: true,
  endWindow: true,
  sweep: true,
}

/** Two isolates, one tenant, and everything that can happen to a reservation. */
export const RESERVATIONS: World = {
  name: 'reservations',
  isolates: 2,
  tenants: 1,
  limits: [3, 1],
  estimates: [1, 2],
  unsettled: ['keep', 'release'],
  differences: [-1, 0, 1],
  hasLeases: false,
  can: { ...EVERYTHING, sweep: false },
}

/** Two tenants: what happens to one budget changes nothing in the other. */
export const TENANTS: World = {
  ...RESERVATIONS,
  name: 'tenants',
  tenants: 2,
  estimates: [2],
  unsettled: ['release'],
  differences: [-1, 1],
  can: { ...EVERYTHING, changePlan: false, reset: false, sweep: false },
}

/** Three isolates: two of them sweep what the third has left, or still holds. */
export const SWEEPS: World = {
  ...RESERVATIONS,
  name: 'sweeps',
  isolates: 3,
  limits: [2, 1],
  estimates: [1],
  unsettled: ['release'],
  differences: [0, 1],
  can: { ...EVERYTHING, changePlan: false, reset: false, endWindow: false },
}

/** Two isolates that lease one budget. */
export const LEASES: World = {
  ...RESERVATIONS,
  name: 'leases',
  limits: [10, 2],
  estimates: [],
  hasLeases: true,
}
