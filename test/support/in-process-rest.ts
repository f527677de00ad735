import type { IncomingMessage } from 'node:http'
import type { UpstashOptions } from '@sluice/core/upstash'
import { connectRedis } from '../../packages/local/dist/engines/redis.js'
import { withScriptFlag } from '../../packages/local/dist/engines/script-flag.js'
import { restHandler } from '../../packages/local/dist/http/handler.js'

type Fetch = NonNullable<UpstashOptions['fetch']>

const HOST = '127.0.0.1'
const TOKEN = 'in-process'

/** The REST API of `@sluice/local` in front of a Redis, called as a function. */
export interface InProcessRest {
  /** The options of `upstash` that reach it. */
  readonly database: Pick<UpstashOptions, 'url' | 'token'> & { readonly fetch: Fetch }
  close(): Promise<void>
}

/**
 * Connects to a Redis as `startLocal({ redisUrl })` does, without a socket between the store and the REST
 * API: HTTP takes most of the time of a decision, and long histories prove nothing about it.
 */
export async function inProcessRest(redisUrl: string): Promise<InProcessRest> {
  const engine = await connectRedis(redisUrl)
  const access = { token: TOKEN, host: HOST, allowedHosts: [] }
  const handle = restHandler(withScriptFlag(engine), access)
  const fetch: Fetch = async (url, { method, headers, body, signal }) => {
    signal.throwIfAborted()
    const request = {
      url: new URL(url).pathname,
      method,
      headers: { host: HOST, ...headers },
      async *[Symbol.asyncIterator]() {
        yield Buffer.from(body)
      },
    }
    // The handler reads no more of a request than this.
    const { status, json } = await handle(request as unknown as IncomingMessage)
    signal.throwIfAborted()
    return { ok: status === 200, status, text: async () => json }
  }
  return {
    database: { url: `http://${HOST}`, token: TOKEN, fetch },
    close: () => engine.close(),
  }
}
