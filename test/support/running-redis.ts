import { createLimiter, type Limiter, type LimiterOptions, type Store } from '@sluice/core'
import { upstash, type UpstashOptions } from '@sluice/core/upstash'
import { startLocal, startRedisServer, type LocalServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, inject } from 'vitest'
import { CommandMeter } from './command-meter.ts'
import { inProcessRest } from './in-process-rest.ts'
import { connect } from './redis.ts'
import { freshPrefix } from './stores.ts'

interface Server {
  readonly url: string
  stop?(): Promise<void>
}

/** A REST API in front of a Redis. */
interface Rest {
  /** The options of `upstash` that reach it. */
  readonly database: UpstashOptions
  close(): Promise<void>
}

interface HttpRest extends Rest {
  readonly local: LocalServer
}

async function httpRest(redisUrl: string): Promise<HttpRest> {
  const local = await startLocal({ redisUrl })
  const { url, token } = local
  return { local, database: { url, token }, close: () => local.close() }
}

/** A redis-server and a REST API in front of it, while the tests of a file or `describe` run. */
class RunningRedis<R extends Rest = Rest> {
  #started: { server: Server; rest: R; redis: Redis } | undefined
  #meter: CommandMeter | undefined

  constructor(startServer: () => Server | Promise<Server>, startRest: (url: string) => Promise<R>) {
    beforeAll(async () => {
      const server = await startServer()
      const rest = await startRest(server.url)
      this.#started = { server, rest, redis: connect(server.url) }
    })
    afterAll(async () => {
      this.#started?.redis.disconnect()
      await this.#started?.rest.close()
      await this.#started?.server.stop?.()
    })
  }

  get redis(): Redis {
    return this.running.redis
  }

  /** Counts the commands of everyone who uses this Redis. */
  get meter(): CommandMeter {
    this.#meter ??= new CommandMeter(this.redis)
    return this.#meter
  }

  /** A store on it, as patient as a busy machine needs. */
  store(prefix = freshPrefix()): Store {
    return upstash({ ...this.running.rest.database, prefix, timeoutMs: 30_000 })
  }

  /** A limiter with keys of its own, under `prefix`; by the clock of Redis unless one is given. */
  setUp(
    policies: LimiterOptions['policies'],
    options: Partial<LimiterOptions> = {},
  ): { limiter: Limiter; prefix: string } {
    const prefix = freshPrefix()
    return { limiter: createLimiter({ store: this.store(prefix), policies, ...options }), prefix }
  }

  protected get running() {
    if (this.#started === undefined) throw new Error('Redis runs only while tests do')
    return this.#started
  }
}

class RedisOverHttp extends RunningRedis<HttpRest> {
  constructor(startServer: () => Server | Promise<Server>) {
    super(startServer, httpRest)
  }

  get local(): LocalServer {
    return this.running.rest.local
  }
}

const sharedServer = (): Server => ({ url: inject('redisUrl') })

/** The redis-server of all tests: keep to keys of your own. Its REST API is called in this process. */
export const sharedRedis = (): Omit<RunningRedis, 'meter'> =>
  new RunningRedis(sharedServer, inProcessRest)

/** A redis-server shared with nobody, on which every command can be counted. Its REST API is called in this process. */
export const ownRedis = (): RunningRedis => new RunningRedis(startRedisServer, inProcessRest)

/** `sharedRedis` behind a server, for tests of requests, their number or their failures. */
export const sharedRedisOverHttp = (): Omit<RedisOverHttp, 'meter'> =>
  new RedisOverHttp(sharedServer)

/** `ownRedis` behind a server, for tests of requests, their number or their failures. */
export const ownRedisOverHttp = (): RedisOverHttp => new RedisOverHttp(startRedisServer)
