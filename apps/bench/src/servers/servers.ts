import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startRedisServer } from '@sluice/local'
import { Redis } from 'ioredis'

/** A redis-server, and the REST protocol before it in a process of its own. */
export interface Servers extends AsyncDisposable {
  /** The REST server's address. */
  readonly url: string
  readonly token: string
  /** A connection straight to the redis-server, which nobody else uses. */
  readonly redis: Redis
}

/** The message of the REST server's process when it listens. */
export interface RestAddress {
  readonly url: string
  readonly token: string
}

/** Starts both. What the REST server costs in CPU is then not the client's. */
export async function startServers(): Promise<Servers> {
  const server = await startRedisServer()
  const rest = fork(new URL('rest-server.ts', import.meta.url), [server.url])
  const exit = once(rest, 'exit')
  const told = await Promise.race([once(rest, 'message'), exit.then(() => undefined)])
  if (told === undefined) throw new Error('The REST server did not start')
  const { url, token } = told[0] as RestAddress
  const redis = new Redis(server.url, { disableClientInfo: true })
  return {
    url,
    token,
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      rest.disconnect()
      await exit
      await server.stop()
    },
  }
}
