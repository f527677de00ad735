export { upstash } from './stores/upstash/upstash.ts'
export type { UpstashOptions } from './stores/upstash/upstash.ts'
export type { RedisStoreOptions } from './stores/upstash/redis-store.ts'
export type { Fetch } from './stores/upstash/transport.ts'
