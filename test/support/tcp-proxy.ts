import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** The action of a proxy on the way to Redis and back. */
interface TcpBehaviour {
  /** Passes on what the client sends, unless it returns false. */
  request?(text: string, client: Socket): boolean
  /** Passes on what Redis sends, unless it returns false. */
  reply?(text: string, client: Socket): boolean
}

/** A TCP server between a client and a Redis. */
export interface TcpProxy {
  readonly url: string
  readonly port: number
  /** Everything that clients have sent. */
  readonly sent: readonly string[]
  /** Scripts called by their digest or text, also those that never arrived. */
  readonly scriptCalls: number
  behaviour: TcpBehaviour
  /** Passes on what was held back on the way to Redis and to the clients. */
  release(): void
  close(): Promise<void>
}

export async function tcpProxy(target: string): Promise<TcpProxy> {
  const sent: string[] = []
  const sockets = new Set<Socket>()
  let held: (() => void)[] = []
  const server = createServer((client) => {
    const redis = connect({ host: '127.0.0.1', port: Number(new URL(target).port) })
    for (const socket of [client, redis]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        redis.destroy()
      })
    }
    client.on('data', (chunk) => {
      sent.push(chunk.toString())
      const pass = (): unknown => redis.write(chunk)
      if (proxy.behaviour.request?.(chunk.toString(), client) === false) held.push(pass)
      else pass()
    })
    redis.on('data', (chunk) => {
      const pass = (): unknown => client.write(chunk)
      if (proxy.behaviour.reply?.(chunk.toString(), client) === false) held.push(pass)
      else pass()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const proxy: TcpProxy = {
    url: `redis://127.0.0.1:${port}`,
    port,
    sent,
    get scriptCalls() {
      return sent.join('').match(/\r\nEVAL(SHA)?\r\n/g)?.length ?? 0
    },
    behaviour: {},
    release() {
      const passing = held
      held = []
      for (const pass of passing) pass()
    },
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      if (server.listening) await once(server, 'close')
    },
  }
  return proxy
}
