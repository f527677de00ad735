import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A connection to a server that can be cut. */
export interface Line extends AsyncDisposable {
  readonly url: string
  /** Ends all connections, and refuses others until `mend`. */
  cut(): void
  mend(): void
}

/** Starts a line to the server at `url`. */
export async function startLine(url: string): Promise<Line> {
  const sockets = new Set<Socket>()
  let isCut = false
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
  }
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = keep(connect(Number(new URL(url).port), '127.0.0.1'))
    keep(near).pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endAll = (): void => sockets.forEach((socket) => socket.destroy())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true
      endAll()
    },
    mend() {
      isCut = false
    },
    async [Symbol.asyncDispose]() {
      endAll()
      server.close()
      await once(server, 'close')
    },
  }
}
