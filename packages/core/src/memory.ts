export { memory } from './stores/memory.ts'
export type { MemoryOptions } from './stores/memory.ts'
