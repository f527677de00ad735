/* The live page of `sluice dev`, for this machine only. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { dashboardPage } from '@sluice/dashboard/page'
import { CommandError } from '../errors.ts'

const HOST = '127.0.0.1'
const STREAM = '/stream'

export interface PageServer {
  /** The address of the page, for a browser. */
  readonly url: string
  /** The variables by which `relay()` finds it. */
  readonly variables: Readonly<Record<string, string>>
  /** Stops listening, and ends all streams. */
  close(): Promise<void>
}

/**
 * Starts a server with the page at `/` and its stream beside it.
 *
 * @param port The port; 0 for a free one.
 * @throws CommandError When the port is in use.
 */
export async function startPageServer(port: number): Promise<PageServer> {
  const key = randomBytes(24).toString('base64url')
  // `isOwn` has decided before that this reader may watch.
  const stream = dashboardHandler(createDashboard(), { authorize: () => true, relayKey: key })
  const server = createServer((request, response) => {
    answer(request, stream)
      .then((result) => send(result, response))
      // The other side has left.
      .catch(() => response.destroy())
  })
  await listen(server, port)
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}`
  return {
    url,
    variables: { SLUICE_DASHBOARD_URL: url + STREAM, SLUICE_DASHBOARD_KEY: key },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, HOST)
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new CommandError(
      `port ${port} on ${HOST}, for the page, is in use: pass another --page-port, or 0 for a free one`,
      { cause: error },
    )
  }
}

async function answer(
  request: IncomingMessage,
  stream: (request: Request) => Promise<Response>,
): Promise<Response> {
  const [path] = (request.url ?? '').split('?')
  if (!isForThisMachine(request)) {
    return refuse(403, 'This page is for this machine only: use localhost or 127.0.0.1.')
  }
  if (path === '/') return dashboardPage({ url: STREAM, title: 'Sluice dev' })
  if (path !== STREAM) return refuse(404, 'There is nothing here: the page is at /.')
  if (!isOwn(request)) return refuse(403, 'The stream is for its own page only.')
  return stream(fetchRequest(request))
}

const refuse = (status: number, message: string): Response => Response.json({ message }, { status })

/** With DNS rebinding, another site's name points to this server: it stands in `Host`. */
const isForThisMachine = ({ headers }: IncomingMessage): boolean =>
  /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(headers.host ?? '') &&
  FORWARDED.every((name) => headers[name] === undefined)

/** Headers that a tunnel or a proxy adds: it passes on requests from elsewhere. */
const FORWARDED = ['x-forwarded-for', 'x-real-ip', 'forwarded']

/** Returns false for the requests that a browser sends for another site's page. Servers send neither header. */
function isOwn({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'] ?? 'none'
  const isOwnOrigin = headers.origin === undefined || headers.origin === `http://${headers.host}`
  return isOwnOrigin && (site === 'none' || site === 'same-origin')
}

function fetchRequest(incoming: IncomingMessage): Request {
  const { url = STREAM, method = 'GET', headers } = incoming
  const sent = ['authorization', 'content-type', 'last-event-id'].flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  const body = method === 'POST' ? Readable.toWeb(incoming) : null
  const init = { method, headers: Object.fromEntries(sent), body, duplex: 'half' }
  return new Request(`http://${HOST}${url}`, init as RequestInit)
}

async function send(result: Response, response: ServerResponse): Promise<void> {
  response.writeHead(result.status, Object.fromEntries(result.headers))
  if (result.body === null) return void response.end()
  // Rejects when the reader leaves, and ends the stream.
  await pipeline(Readable.fromWeb(result.body), response)
}
