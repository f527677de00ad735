import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { addressOf } from './ports.ts'

/** A request as the model received it. */
interface UpstreamRequest {
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly body: { stream?: boolean; messages?: { role: string; content: string }[] }
}

/** An OpenAI-compatible service that a test has in its hands. */
export interface Upstream extends AsyncDisposable {
  readonly url: string
  readonly key: string
  readonly requests: UpstreamRequest[]
  /** Answers what comes next; by default with one small completion. */
  respond: (response: ServerResponse) => void
  reset(): void
}

const answerAtOnce = (response: ServerResponse): void => {
  response.setHeader('content-type', 'application/json')
  response.end('{"object":"chat.completion","choices":[]}')
}

export async function startUpstream(): Promise<Upstream> {
  const requests: UpstreamRequest[] = []
  const server = createServer((request, response) => {
    // A client may leave before its body is here.
    void bodyOf(request)
      .then((body) => {
        const { url: path, headers } = request
        const { authorization } = headers
        requests.push({ path, authorization, body: JSON.parse(body) as never })
        upstream.respond(response)
      })
      .catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: Upstream = {
    url: `http://127.0.0.1:${addressOf(server).port}/v1`,
    key: 'e2e-upstream-key',
    requests,
    respond: answerAtOnce,
    reset: () => void (upstream.respond = answerAtOnce),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return upstream
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}
