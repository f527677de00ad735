export { CounterFlush, type CounterFlushOptions, type TakenCounters } from './counter-flush.ts'
export type { Counter, CounterGroup, CounterHash } from './counter.ts'
export { readCounters, type CounterValues } from './read-counters.ts'
