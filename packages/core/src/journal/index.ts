// For the packages of this project alone: it may change in any release.
export { chooseHere } from './choose-here.ts'
export { kindsOf, UnknownKind, type Kinds, type OwnKinds } from './kinds.ts'
export { checkMessage, decode, encode, parseMessage, resetMessage, runMessage } from './message.ts'
export type { PlaceCall } from './message.ts'
export { PlaceStates } from './place-states.ts'
export type { Answer, ChangeJournal, StateRow, StoredChanges } from './place-states.ts'
