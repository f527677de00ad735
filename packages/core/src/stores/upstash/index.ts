export { upstash } from './upstash.ts'
export type { UpstashEnv, UpstashOptions } from './upstash.ts'
export type { RedisStoreOptions } from './redis-store.ts'
export type { Fetch } from './transport.ts'
