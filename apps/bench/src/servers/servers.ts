import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startRedisServer } from '@sluice/local'
import { Redis } from 'ioredis'

/** A redis-server, and a REST server for it in another process. */
export interface Servers extends AsyncDisposable {
  /** The address of the REST server. */
  readonly url: string
  readonly token: string
  /** A direct connection to the redis-server. */
  readonly redis: Redis
  /** Returns the work of the REST server so far. */
  restWork(): Promise<RestWork>
}

/** The CPU time of the REST server's process, in microseconds, and the requests to it. */
export interface RestWork {
  readonly cpu: number
  readonly requests: number
}

/** The message that the REST server's process sends when it listens. */
export interface RestAddress {
  readonly url: string
  readonly token: string
}

/** Starts both in processes of their own, so that their CPU time is not the client's. */
export async function startServers(): Promise<Servers> {
  const server = await startRedisServer()
  const rest = fork(new URL('rest-server.ts', import.meta.url), [server.url])
  const exit = once(rest, 'exit')
  const message = await Promise.race([once(rest, 'message'), exit.then(() => undefined)])
  if (message === undefined) throw new Error('The REST server did not start')
  const { url, token } = message[0] as RestAddress
  const redis = new Redis(server.url, { disableClientInfo: true })
  return {
    url,
    token,
    redis,
    async restWork() {
      rest.send('work')
      const [work] = (await once(rest, 'message')) as [RestWork]
      return work
    },
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      rest.disconnect()
      await exit
      await server.stop()
    },
  }
}
