export { upstashRedis } from './stores/upstash/client.ts'
export type { UpstashRedisOptions } from './stores/upstash/client.ts'
