import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { addressOf } from '../e2e/support/ports.ts'
import * as recorded from './recordings.ts'

export interface Server extends AsyncDisposable {
  readonly url: string
}

type Handler = (request: Request) => Response | Promise<Response>

/** Serves a handler of the `fetch` shape, on this machine. */
export async function serve(handle: Handler): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    // A client that went away has nobody to be answered.
    void respond(incoming, outgoing, handle).catch(() => outgoing.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${addressOf(server).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function respond(incoming: IncomingMessage, outgoing: ServerResponse, handle: Handler) {
  const chunks: Uint8Array[] = []
  for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
  const { method = 'GET', url = '/', headers } = incoming
  const body = method === 'POST' ? Buffer.concat(chunks) : null
  const given = new Headers()
  for (const [name, value] of Object.entries(headers)) given.set(name, String(value))
  const request = new Request(`http://server.example${url}`, { method, headers: given, body })
  const response = await handle(request)
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(response.body as never), outgoing)
}

/** Asks for the answer to be one of tools, to fail, or never to end. */
export const WISHES = { tools: 'Call a tool.', fail: 'Fail.', stall: 'Stall.' } as const

/**
 * OpenAI's chat completions and responses and Anthropic's messages, as documented on the wire: JSON, or
 * events in pieces of seven bytes. `stalled` tells when a stalling answer was given up.
 */
export async function startProvider(): Promise<Server & { readonly gaveUp: Promise<void> }> {
  let giveUp: () => void
  const gaveUp = new Promise<void>((resolve) => (giveUp = resolve))
  const server = await serve(async (request) => {
    const { pathname } = new URL(request.url)
    const text = await request.text()
    const body = JSON.parse(text) as { stream?: boolean; stream_options?: { include_usage?: true } }
    if (text.includes(WISHES.fail)) {
      return Response.json({ error: { message: 'no', type: 'overloaded' } }, { status: 400 })
    }
    const answer = answers(pathname, text.includes(WISHES.tools), body.stream_options !== undefined)
    if (body.stream !== true) return Response.json(answer.json)
    const bytes = new TextEncoder().encode(answer.events)
    let at = 0
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.slice(at, at + 7))
        else if (!text.includes(WISHES.stall)) controller.close()
        at += 7
        // The events that tell the usage are the last, and never come.
        return text.includes(WISHES.stall) && at > bytes.length / 2
          ? new Promise<void>(() => undefined)
          : undefined
      },
      cancel: () => giveUp(),
    })
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
  })
  return { ...server, gaveUp }
}

function answers(pathname: string, tools: boolean, usage: boolean) {
  if (pathname.endsWith('/responses')) {
    return { json: recorded.RESPONSES_JSON, events: recorded.responsesSse() }
  }
  if (pathname.endsWith('/messages')) {
    return tools
      ? { json: recorded.MESSAGES_TOOLS_JSON, events: recorded.MESSAGES_TOOLS_SSE }
      : { json: recorded.MESSAGES_JSON, events: recorded.MESSAGES_SSE }
  }
  if (tools) {
    const events = usage ? recorded.CHAT_TOOLS_SSE_WITH_USAGE : recorded.CHAT_TOOLS_SSE
    return { json: recorded.CHAT_TOOLS_JSON, events }
  }
  return {
    json: recorded.CHAT_JSON,
    events: usage ? recorded.CHAT_SSE : recorded.CHAT_SSE_WITHOUT_USAGE,
  }
}
