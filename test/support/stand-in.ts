import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** The action of a stand-in once the body of a request has arrived. */
export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void

/** An HTTP server in the place of Redis. */
export interface StandIn {
  readonly url: string
  /** Bodies of the requests it has received. */
  readonly bodies: readonly string[]
  /** Resolves when so many requests have arrived. */
  arrived(count?: number): Promise<void>
  /** Resolves when the client has closed the connection of the first request. */
  readonly aborted: Promise<void>
  close(): Promise<void>
}

/** Answers with this status and text. */
export const answer =
  (status: number, text: string, headers: Record<string, string> = {}): Behaviour =>
  (response) => {
    response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(text)
  }

/** Never answers. */
export const hang: Behaviour = () => {}

/** Starts an answer that never ends. */
export const drip: Behaviour = (response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).write('{"result":[')
  const timer = setInterval(() => response.write('1,'), 5)
  response.on('close', () => clearInterval(timer))
}

/** Breaks the connection once the request is here, as if the answer were lost. */
export const reset: Behaviour = (_, request) => {
  request.socket.destroy()
}

/** Begins an answer and breaks off. */
export const breakOff: Behaviour = (response, request) => {
  response.writeHead(200, { 'content-length': '100' }).write('{"result":[1', () => {
    request.socket.destroy()
  })
}

export async function standIn(behave: Behaviour): Promise<StandIn> {
  const bodies: string[] = []
  const events = new EventEmitter()
  const aborted = once(events, 'abort').then(() => {})
  const server = createServer((request, response) => {
    response.on('close', () => {
      if (!response.writableFinished) events.emit('abort')
    })
    // A client that leaves before its body is here, or an answer that fails, is no error of the process.
    void (async () => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      bodies.push(body)
      behave(response, request)
      events.emit('arrival')
    })().catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    aborted,
    async arrived(count = 1) {
      while (bodies.length < count) await once(events, 'arrival')
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
