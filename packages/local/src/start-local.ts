import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { Engine } from './engines/engine.ts'
import { connectOwnRedis } from './engines/restricted-redis.ts'
import { connectRedis } from './engines/redis.ts'
import { LocalError } from './errors.ts'
import { restHandler } from './http/handler.ts'
import { resolveOptions } from './options.ts'
import type { LocalOptions } from './options.ts'
import { startRedisServer } from './redis-server/redis-server.ts'
import type { RedisServer } from './redis-server/redis-server.ts'
import { withScriptFlag } from './engines/script-flag.ts'

const KEEP_ALIVE_MS = 60_000

/** A running server that speaks the Upstash REST protocol. */
export interface LocalServer extends AsyncDisposable {
  /** The base address, as in `http://127.0.0.1:8079`. */
  readonly url: string
  /** The bearer token it accepts. */
  readonly token: string
  /** A given Redis, a `redis-server` of its own, or the engine in this process. */
  readonly engine: 'redis' | 'redis-server' | 'embedded'
  /** The Redis behind it; undefined for the embedded engine. */
  readonly redisUrl: string | undefined
  /** HTTP requests answered so far. */
  readonly requests: number
  /** Stops listening and ends what it started. May be called again. */
  close(): Promise<void>
}

interface Backend {
  kind: LocalServer['engine']
  redisUrl: string | undefined
  engine: Engine
  stop(): Promise<void>
}

/**
 * Starts an Upstash-compatible server for development and tests.
 *
 * @throws LocalError `ERR_LOCAL_OPTION` for a bad option, `ERR_LOCAL_PORT_IN_USE`,
 * `ERR_LOCAL_REDIS_UNREACHABLE`, `ERR_LOCAL_REDIS_MISSING` or `ERR_LOCAL_REDIS_START`.
 * @example
 * await using local = await startLocal()
 * const redis = new Redis({ url: local.url, token: local.token })
 */
export async function startLocal(options: LocalOptions = {}): Promise<LocalServer> {
  const { port, host, token, allowedHosts, scriptFlag, ...wanted } = resolveOptions(options)
  const backend = await startBackend(wanted.redisUrl, wanted.engine)
  const engine = scriptFlag ? withScriptFlag(backend.engine) : backend.engine
  let requests = 0
  const handle = restHandler(engine, { token, host, allowedHosts })
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void handle(request).then(({ status, json }) => {
      requests += 1
      const tooLarge = status === 413 && { connection: 'close' }
      response.writeHead(status, {
        'content-type': 'application/json',
        // Clients hand it back; with one Redis and no replicas every read sees every write.
        'upstash-sync-token': `local-${requests}`,
        ...tooLarge,
      })
      response.end(request.method === 'HEAD' ? undefined : json)
    })
  })
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => {
    closing ??= (async () => {
      if (server.listening) {
        server.close()
        server.closeAllConnections()
        await once(server, 'close')
      }
      await backend.stop()
    })()
    return closing
  }
  try {
    await listen(server, port, host)
  } catch (error) {
    await close()
    throw error
  }
  return {
    url: addressOf(server, host),
    token,
    engine: backend.kind,
    redisUrl: backend.redisUrl,
    get requests() {
      return requests
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function startBackend(
  redisUrl: string | undefined,
  wanted: 'auto' | 'redis-server' | 'embedded',
): Promise<Backend> {
  if (redisUrl !== undefined) {
    const engine = await connectRedis(redisUrl)
    return { kind: 'redis', redisUrl, engine, stop: () => engine.close() }
  }
  if (wanted === 'embedded') return embeddedBackend()
  let child: RedisServer
  try {
    child = await startRedisServer()
  } catch (error) {
    const isMissing = error instanceof LocalError && error.code === 'ERR_LOCAL_REDIS_MISSING'
    if (wanted === 'auto' && isMissing) return embeddedBackend()
    throw error
  }
  try {
    const engine = await connectOwnRedis(child.url)
    const stop = async (): Promise<void> => {
      await engine.close()
      await child.stop()
    }
    return { kind: 'redis-server', redisUrl: child.url, engine, stop }
  } catch (error) {
    await child.stop()
    throw error
  }
}

/** Imported only when it is used: with a Redis at hand nobody pays for a Lua. */
async function embeddedBackend(): Promise<Backend> {
  const { startEmbedded } = await import('./engines/embedded/engine.ts')
  const engine = await startEmbedded()
  return { kind: 'embedded', redisUrl: undefined, engine, stop: () => engine.close() }
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE') throw error
    throw new LocalError(
      'ERR_LOCAL_PORT_IN_USE',
      `Port ${port} on ${host} is in use: pass another, or 0 for a free one`,
    )
  }
}

function addressOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
