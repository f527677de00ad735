import type { IncomingMessage, ServerResponse } from 'node:http'
import { compileRoutes, createGuard } from '@sluice/core/http'
import type { AdapterOptions, LimiterSource } from '@sluice/core/http'

type Context = [req: IncomingMessage]
type Handler = (req: IncomingMessage, res: ServerResponse) => unknown

export function rateLimit(
  limiter: LimiterSource<Context>,
  { routes, ...options }: AdapterOptions<Context>,
  handle: Handler,
): Handler {
  const match = compileRoutes(routes)
  const guard = createGuard(limiter, options)

  async function answer(...[req, res]: Parameters<Handler>): Promise<unknown> {
    const request = requestOf(req, res)
    if (request === undefined) return res.writeHead(400).end()
    const route = match(request.method, new URL(request.url).pathname)
    if (route === undefined) return handle(req, res)
    const outcome = await guard(route, request, req)
    if (outcome.kind === 'refuse') {
      const { status, headers } = outcome.response
      res.setHeaders(headers).writeHead(status)
      return res.end(await outcome.response.text())
    }
    if (outcome.kind === 'allow') {
      // The client is gone, and no second 'close' follows.
      if (res.destroyed) return outcome.call?.end()
      res.setHeaders(new Headers(outcome.headers))
      res.on('close', () => void outcome.call?.end())
    }
    return handle(req, res)
  }

  // Node.js ends the process at an error that nobody catches, such as one of `cost`.
  return (req, res) =>
    answer(req, res).catch((error: unknown) => {
      console.error(error)
      return res.headersSent ? res.destroy() : res.writeHead(500).end()
    })
}

/** Returns the request without its body. */
function requestOf(req: IncomingMessage, res: ServerResponse): Request | undefined {
  const { url = '', method = 'GET' } = req
  const gone = new AbortController()
  res.on('close', () => gone.abort())
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) headers.set(name, String(value))
  try {
    // Not relative to a base: a path may begin with two slashes. A proxy gets an absolute URL.
    const absoluteUrl = url.startsWith('/') ? `http://localhost${url}` : url
    return new Request(absoluteUrl, { method, headers, signal: gone.signal })
  } catch {
    return undefined
  }
}
