/* The entry `waiting`: requests that wait until they fit. */
export { lineAlgorithm, waitingLine, type WaitingLineOptions } from '../policies/waiting-line.ts'
export { lineOperations } from './stand.ts'
export type { Waited, WaitForOptions } from './wait.ts'
export { waitFor } from './wait-for.ts'
export { waiting, type WaitingOptions } from './waiting.ts'
