import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Engine } from './engines/engine.ts'
import { connectRestricted } from './engines/restricted-redis.ts'
import { connectRedis } from './engines/redis.ts'
import { LocalError } from './errors.ts'
import { restHandler } from './http/handler.ts'
import { resolveOptions, type LocalOptions } from './options.ts'
import { startRedisServer, type RedisServer } from './redis-server/redis-server.ts'
import { withScriptFlag } from './engines/script-flag.ts'

const KEEP_ALIVE_MS = 60_000

/** A running server that speaks the Upstash REST protocol. */
export interface LocalServer extends AsyncDisposable {
  /** The base URL, such as `http://127.0.0.1:8079`. */
  readonly url: string
  /** The bearer token that it accepts. */
  readonly token: string
  /** The engine: the Redis of `redisUrl`, a `redis-server` started for it, or the embedded one. */
  readonly engine: 'redis' | 'redis-server' | 'embedded'
  /** The address of the Redis; undefined for the embedded engine. */
  readonly redisUrl: string | undefined
  /** The number of HTTP requests answered so far. */
  readonly requests: number
  /**
   * Resolves when the `redis-server` that was started for it has ended: by `close`, or by itself, and its data with it.
   * Another engine never resolves it.
   */
  readonly engineEnded: Promise<void>
  /** Stops listening and ends the engine. Further calls have no effect. */
  close(): Promise<void>
}

/** An engine, and the end of everything that was started for it. */
interface Backend {
  kind: LocalServer['engine']
  redisUrl: string | undefined
  engine: Engine
  ended?: Promise<void>
  stop(): Promise<void>
}

/**
 * Starts an Upstash-compatible server for development and tests.
 *
 * @throws LocalError `ERR_LOCAL_OPTION` for an invalid option, `ERR_LOCAL_PORT_IN_USE`,
 * `ERR_LOCAL_REDIS_UNREACHABLE`, `ERR_LOCAL_REDIS_MISSING` or `ERR_LOCAL_REDIS_START`.
 * @example
 * await using local = await startLocal()
 * const redis = new Redis({ url: local.url, token: local.token })
 */
export async function startLocal(options: LocalOptions = {}): Promise<LocalServer> {
  const { redisUrl, engine, port, host, scriptFlag, ...access } = resolveOptions(options)
  const backend = await startBackend(redisUrl, engine)
  const served = scriptFlag ? withScriptFlag(backend.engine) : backend.engine
  const rest = restServer(restHandler(served, { host, ...access }))
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= closeAll(rest.server, backend))
  try {
    await listen(rest.server, port, host)
  } catch (error) {
    await close()
    throw error
  }
  return {
    url: baseUrlOf(rest.server, host),
    token: access.token,
    engine: backend.kind,
    redisUrl: backend.redisUrl,
    engineEnded: backend.ended ?? new Promise(() => {}),
    get requests() {
      return rest.requests()
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Creates the HTTP server, which counts the requests that it answers. */
function restServer(handle: ReturnType<typeof restHandler>): {
  server: Server
  requests: () => number
} {
  let requests = 0
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void handle(request).then(({ status, json }) => {
      requests += 1
      const closesConnection = status === 413 && { connection: 'close' }
      response.writeHead(status, {
        'content-type': 'application/json',
        // Clients send it back. One Redis without replicas needs none: each read sees every write.
        'upstash-sync-token': `local-${requests}`,
        ...closesConnection,
      })
      response.end(request.method === 'HEAD' ? undefined : json)
    })
  })
  return { server, requests: () => requests }
}

async function closeAll(server: Server, backend: Backend): Promise<void> {
  if (server.listening) {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  await backend.stop()
}

async function startBackend(
  redisUrl: string | undefined,
  engine: NonNullable<LocalOptions['engine']>,
): Promise<Backend> {
  if (redisUrl !== undefined) {
    const redis = await connectRedis(redisUrl)
    return { kind: 'redis', redisUrl, engine: redis, stop: () => redis.close() }
  }
  if (engine === 'embedded') return embeddedBackend()
  try {
    return await serverBackend(await startRedisServer())
  } catch (error) {
    const isMissing = error instanceof LocalError && error.code === 'ERR_LOCAL_REDIS_MISSING'
    if (engine === 'auto' && isMissing) return embeddedBackend()
    throw error
  }
}

async function serverBackend(child: RedisServer): Promise<Backend> {
  try {
    const engine = await connectRestricted(child.url)
    const stop = async (): Promise<void> => {
      await engine.close()
      await child.stop()
    }
    return { kind: 'redis-server', redisUrl: child.url, engine, ended: child.ended, stop }
  } catch (error) {
    await child.stop()
    throw error
  }
}

/** Imports the embedded engine only where it runs: with a Redis, nobody loads the Lua interpreter. */
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
      `Port ${port} on ${host} is in use: pass another port, or 0 for a free one`,
    )
  }
}

function baseUrlOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
