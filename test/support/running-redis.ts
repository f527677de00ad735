import { createLimiter, type Limiter, type LimiterOptions, type Store } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer, type LocalServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, inject } from 'vitest'
import { CommandMeter } from './command-meter.ts'
import { connect } from './redis.ts'
import { freshPrefix } from './stores.ts'

interface Server {
  readonly url: string
  stop?(): Promise<void>
}

/** A redis-server and a REST API in front of it, while the tests of a file or `describe` run. */
class RunningRedis {
  #started: { server: Server; local: LocalServer; redis: Redis } | undefined

  constructor(start: () => Server | Promise<Server>) {
    beforeAll(async () => {
      const server = await start()
      const local = await startLocal({ redisUrl: server.url })
      this.#started = { server, local, redis: connect(server.url) }
    })
    afterAll(async () => {
      this.#started?.redis.disconnect()
      await this.#started?.local.close()
      await this.#started?.server.stop?.()
    })
  }

  get redis(): Redis {
    return this.#running.redis
  }

  get local(): LocalServer {
    return this.#running.local
  }

  /** A store on it, as patient as a busy machine needs. */
  store(prefix = freshPrefix()): Store {
    const { url, token } = this.local
    return upstash({ url, token, prefix, timeoutMs: 30_000 })
  }

  /** A limiter with keys of its own, under `prefix`; by the clock of Redis unless one is given. */
  setUp(
    policies: LimiterOptions['policies'],
    options: Partial<LimiterOptions> = {},
  ): { limiter: Limiter; prefix: string } {
    const prefix = freshPrefix()
    return { limiter: createLimiter({ store: this.store(prefix), policies, ...options }), prefix }
  }

  get #running() {
    if (this.#started === undefined) throw new Error('Redis runs only while tests do')
    return this.#started
  }
}

class OwnRedis extends RunningRedis {
  #meter: CommandMeter | undefined

  get meter(): CommandMeter {
    this.#meter ??= new CommandMeter(this.redis)
    return this.#meter
  }
}

/** The redis-server of all tests: keep to keys of your own. */
export const sharedRedis = (): RunningRedis => new RunningRedis(() => ({ url: inject('redisUrl') }))

/** A redis-server shared with nobody, on which every command can be counted. */
export const ownRedis = (): OwnRedis => new OwnRedis(startRedisServer)
