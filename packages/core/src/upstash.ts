export { upstash } from './stores/upstash/store.ts'
export type { UpstashOptions } from './stores/upstash/store.ts'
export type { Fetch } from './stores/upstash/transport.ts'
