export { startLocal } from './start-local.ts'
export type { LocalServer } from './start-local.ts'
export type { LocalOptions } from './options.ts'

export { startRedisServer } from './redis-server/redis-server.ts'
export type { RedisServer, RedisServerOptions } from './redis-server/redis-server.ts'

export { LocalError } from './errors.ts'
export type { LocalErrorCode } from './errors.ts'
