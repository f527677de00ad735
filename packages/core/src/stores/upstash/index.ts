export { upstash } from './upstash.ts'
export type { UpstashEnv, UpstashOptions } from './upstash-store.ts'
export type { RedisStoreOptions } from '../redis/redis-store.ts'
export type { Fetch } from './rest-transport.ts'
