// For the packages of this project alone: it may change in any release.
export { kindsOf, UnknownKind } from '../journal/kinds.ts'
export type { Kinds, OwnKinds } from '../journal/kinds.ts'
export {
  checkMessage,
  decode,
  encode,
  parseMessage,
  resetMessage,
  runMessage,
} from '../journal/message.ts'
export type { PlaceCall } from '../journal/message.ts'
export { PlaceStates } from '../journal/place-states.ts'
export type { Answer, ChangeJournal, StateRow, StoredChanges } from '../journal/place-states.ts'
export { withDeadline } from '../stores/deadline.ts'
export { placedStore } from '../stores/placed/placed-store.ts'
export { HOME, placesBy } from '../stores/placed/places-by.ts'
export type { PlacesBy } from '../stores/placed/places-by.ts'
export { HomeUnits } from './home-units.ts'
export type { OwnPlace } from './own-place.ts'
export type { Settling } from '../leases/held-calls.ts'
