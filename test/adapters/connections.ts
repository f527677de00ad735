import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect as connectHttp2, constants, type ClientHttp2Stream } from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { vi } from 'vitest'
import { PATIENTLY } from '../support/patience.ts'

/** A POST request. */
export interface Message {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A connection to a server of this process; for HTTP/2, a stream. */
export interface Connection {
  /** Sends a request some times, and bytes behind it. */
  readonly send: (message: Message, times?: number, trailing?: string) => void
  readonly reset: () => void
  /** Closes the half that the client writes to. */
  readonly end: () => void
  /** Waits for the beginning of an answer. */
  readonly answered: () => Promise<unknown>
  /** Waits until the server has noticed that the connection is closed. */
  readonly closed: () => Promise<unknown>
}

/** A connection of HTTP/1.1. */
export interface Http1Connection extends Connection {
  /** Returns the bytes received so far, as text. */
  readonly received: () => string
}

/** Makes connections to the server at a URL. */
export type Transport<Opened = Connection> = (url: string) => {
  readonly open: () => Promise<Opened>
  readonly close: () => void
}

export const http1: Transport<Http1Connection> = (url) => {
  const { hostname, port, host } = new URL(url)
  /** Sockets of the server, by the port of their client. */
  const accepted = new Map<number | undefined, Socket>()
  const accept = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket }
    accepted.set(socket.remotePort, socket)
  }
  subscribe('net.server.socket', accept)

  return {
    async open() {
      const socket = connectTcp(Number(port), hostname)
      await once(socket, 'connect')
      // Some servers reset a connection themselves.
      let received = ''
      socket
        .on('error', () => {})
        .on('data', (bytes: Buffer) => (received += bytes.toString('latin1')))
      const remote = await vi.waitUntil(() => accepted.get(socket.localPort), {
        ...PATIENTLY,
        interval: 1,
      })
      accepted.delete(socket.localPort)
      const closing = new Promise((resolve) => remote.once('close', resolve))
      return {
        send(message, times = 1, trailing = '') {
          socket.write(asText(host, message).repeat(times) + trailing)
        },
        reset: () => void socket.resetAndDestroy(),
        end: () => void socket.end(),
        answered: () => once(socket, 'data'),
        received: () => received,
        closed: () => closing,
      }
    },
    close: () => unsubscribe('net.server.socket', accept),
  }
}

export const http2: Transport = (url) => {
  // A server that ends it fails the requests on it.
  const session = connectHttp2(url).on('error', () => {})
  return {
    async open() {
      let stream: ClientHttp2Stream
      return {
        send({ path, headers, body }) {
          stream = session.request({ ':method': 'POST', ':path': path, ...headers })
          stream.on('error', () => {}).end(body)
        },
        reset: () => stream.close(constants.NGHTTP2_CANCEL),
        end: () => void stream.end(),
        answered: () => once(stream, 'response'),
        // The server reads what comes before a ping first.
        closed: () => new Promise((resolve) => session.ping(resolve)),
      }
    },
    close: () => session.destroy(),
  }
}

/** Writes a request as HTTP/1.1 has it. */
export function asText(host: string, { path, headers, body }: Message): string {
  const all = { host, ...headers, 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
