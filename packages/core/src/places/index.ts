// For the packages of this project alone: it may change in any release.
export { withDeadline } from '../stores/deadline.ts'
export { placedStore } from '../stores/placed/placed-store.ts'
export { HOME, placesBy, type PlacesBy } from '../stores/placed/places-by.ts'
export { HomeUnits } from './home-units.ts'
export type { OwnPlace } from './own-place.ts'
export type { Settling } from '../leases/held-calls.ts'
