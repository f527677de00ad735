// Serves the app without an account: the middleware, then the function, as Vercel calls them.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import aiChat from './api/ai/chat.ts'
import chat from './api/chat.ts'
import middleware, { config } from './middleware.ts'

const functions: Record<string, { fetch(request: Request): Response | Promise<Response> }> = {
  '/api/ai/chat': aiChat,
  '/api/chat': chat,
}
const matcher = new RegExp(`^${config.matcher.replace('/:path*', '(/|$)')}`)

async function answer(request: Request): Promise<Response> {
  const path = decodeURI(new URL(request.url).pathname)
  const first = matcher.test(path) ? await middleware(request) : undefined
  if (first && !first.headers.has('x-middleware-next')) return first
  const response = (await functions[path]?.fetch(request)) ?? new Response(null, { status: 404 })
  for (const [name, value] of first?.headers ?? []) response.headers.set(name, value)
  response.headers.delete('x-middleware-next')
  return response
}

async function respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { url = '/', method = 'GET', headers } = incoming
  const request = new Request(new URL(url, 'http://localhost'), {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
  })
  const response = await answer(request)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(await response.text())
}

createServer((incoming, outgoing) => {
  respond(incoming, outgoing).catch((error: unknown) => {
    console.error(error)
    outgoing.writeHead(500).end()
  })
}).listen(Number(process.env.PORT ?? 3000))
