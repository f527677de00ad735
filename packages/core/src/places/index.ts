// For the packages of this project alone: it may change in any release.
export { kindsOf, UnknownKind } from './kinds.ts'
export type { Kinds, OwnKinds } from './kinds.ts'
export { checkMessage, decode, encode, parseMessage, resetMessage, runMessage } from './message.ts'
export type { PlaceCall } from './message.ts'
export { decideOn } from '../stores/decide-on.ts'
export type { CountedStates } from '../stores/decide-on.ts'
export { withDeadline } from '../stores/deadline.ts'
export { assertPer, encodePartitionAsync } from '../subject.ts'
