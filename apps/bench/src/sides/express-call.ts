import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Express } from 'express'

/** A socket that sends nothing, so that no network is measured. */
class NullSocket extends Socket {
  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done()
  }

  override _writev(_chunks: unknown, done: () => void): void {
    done()
  }

  override _read(): void {
    // Nothing ever arrives.
  }
}

/** Sends a GET of `/` through an Express app in this process. @throws Error When the answer is not 200. */
export async function callExpress(app: Express, headers: Record<string, string>): Promise<void> {
  const socket = new NullSocket()
  const request = new IncomingMessage(socket)
  Object.assign(request, { method: 'GET', url: '/', headers: { host: 'localhost', ...headers } })
  const response = new ServerResponse(request)
  response.assignSocket(socket)
  const finished = once(response, 'finish')
  app(request as never, response as never)
  await finished
  response.detachSocket(socket)
  if (response.statusCode !== 200) throw new Error(`Express answered ${response.statusCode}`)
}
