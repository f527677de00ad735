export { startLocal, type LocalServer } from './start-local.ts'
export type { LocalOptions } from './options.ts'

export { startRedisServer } from './redis-server/redis-server.ts'
export type { RedisServer, RedisServerOptions } from './redis-server/redis-server.ts'

export { LocalError, type LocalErrorCode } from './errors.ts'
