import { createServer as createHttp2Server } from 'node:http2'
import { createAdaptorServer } from '@hono/node-server'
import { denialOf, rateLimit, reservationOf } from '@sluice/adapters/trpc'
import { concurrency } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import {
  createHTTP2Handler,
  createHTTPServer,
  type CreateHTTPContextOptions,
} from '@trpc/server/adapters/standalone'
import { observable, type Observable } from '@trpc/server/observable'
import { describe, expect, it } from 'vitest'
import { setUpAtMidnight, subject } from '../core/http/support.ts'
import { ACME } from '../support/limiters.ts'
import { adapterCases } from './cases.ts'
import { hangUpCases } from './hang-ups.ts'
import { http2Cases } from './http2.ts'
import { listen, type App, type Serve } from './support.ts'

interface Context {
  readonly req: Request
  readonly resHeaders: Headers
}

const t = initTRPC.context<Context>().create({
  errorFormatter: ({ shape, error }) => ({
    ...shape,
    data: { ...shape.data, denial: denialOf(error) },
  }),
})

const serve: Serve = async ({ limiter, options, chat, settle, stream, fail, free }) => {
  const limited = t.procedure.use(rateLimit(limiter, options))
  const router = t.router({
    chat: limited.mutation(chat),
    settle: limited.mutation(({ ctx }) => settle(reservationOf(ctx))),
    stream: limited.subscription(async function* () {
      for await (const bytes of stream()) yield [...bytes]
    }),
    fail: limited.mutation(fail),
    free: t.procedure.mutation(free),
  })
  const fetch = async (request: Request) => {
    const { pathname } = new URL(request.url)
    const response = await fetchRequestHandler({
      endpoint: pathname.startsWith('/api/ai/') ? '/api/ai' : '/',
      req: asCall(request),
      router,
      createContext: ({ req, resHeaders }) => ({ req, resHeaders }),
    })
    return asAnswer(response)
  }
  return listen(createAdaptorServer({ fetch }))
}

adapterCases(serve, {
  spellings: ['/api/ai/%63hat', '/api/ai/chat/'],
  // By itself, tRPC calls no procedure for HEAD.
  headAnswers: Array.from({ length: 3 }, () => [204, null] as const),
  // Its denials have no headers.
  hasOnDenied: false,
})

const createContext = (context: CreateHTTPContextOptions) => context

/** A router whose limited procedure has a context of Node.js. */
function nodeRouter({ limiter, options, chat }: App) {
  const tNode = initTRPC.context<CreateHTTPContextOptions>().create()
  const limited = tNode.procedure.use(rateLimit<CreateHTTPContextOptions>(limiter, options))
  return tNode.router({ chat: limited.mutation(chat) })
}

const serveNode: Serve = (app) =>
  listen(createHTTPServer({ router: nodeRouter(app), createContext }))

const serveNodeHttp2: Serve = (app) => {
  const options = { router: nodeRouter(app), createContext }
  return listen(createHttp2Server(createHTTP2Handler(options as never)))
}

describe('behind the adapter of tRPC for Node.js', () => {
  const headers = { 'content-type': 'application/json' }
  hangUpCases(serveNode, { message: { path: '/chat', headers, body: '' } })
  // Each answer is wrapped.
  http2Cases(serveNodeHttp2, {
    kinds: ['empty', 'small', 'large'],
    pathOf: (route) => `/${route}`,
    isTyped: true,
    methodOfReads: 'POST',
    envelope: 22,
  })
})

describe('a slot of a subscription', () => {
  const { limiter } = setUpAtMidnight(concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] }))
  const limited = t.procedure.use(rateLimit<Context>(limiter, { subject, cost: reserving(1) }))
  const router = t.router({
    observed: limited.subscription(() =>
      observable<number>((observer) => {
        observer.next(1)
      }),
    ),
    yielded: limited.subscription(async function* () {
      yield 1
    }),
  })
  const req = new Request('http://app.example', { headers: { 'x-tenant': 'acme' } })
  const call = (signal?: AbortSignal) =>
    t.createCallerFactory(router)({ req, resHeaders: new Headers() }, signal ? { signal } : {})
  const left = async () => (await limiter.peek(ACME, { cost: 0 })).policies[0]?.remaining

  it('is held until an observable ends', async () => {
    const data = (await call().observed()) as unknown as Observable<number, unknown>
    expect(await left()).toBe(0)
    const subscription = data.subscribe({})
    expect(await left()).toBe(0)
    subscription.unsubscribe()
    expect(await left()).toBe(1)
  })

  it('is free if the client was gone before', async () => {
    await call(AbortSignal.abort()).yielded()
    expect(await left()).toBe(1)
  })
})

/** Writes a request of the cases as tRPC's client does. */
function asCall(request: Request): Request {
  const { url, method, headers, signal } = request
  if (method === 'HEAD') return request
  if (url.endsWith('/stream')) return new Request(url, { headers, signal })
  const json = new Headers(headers)
  json.set('content-type', 'application/json')
  return new Request(url, { method: 'POST', headers: json, signal })
}

/** Reads an answer as tRPC's client does: the result, the denial, or the bytes that are streamed. */
async function asAnswer(response: Response): Promise<Response> {
  const { status, headers } = response
  if (response.body === null) return response
  if (headers.get('content-type')?.startsWith('text/event-stream')) {
    return new Response(response.body?.pipeThrough(eventBytes()), { headers })
  }
  const { result, error } = (await response.json()) as {
    result?: { data: string }
    error?: { data: { denial?: object } }
  }
  headers.delete('content-length')
  return result
    ? new Response(result.data, { status, headers })
    : Response.json(error?.data.denial ?? {}, { status, headers })
}

/** Turns server-sent events whose data are arrays of bytes into these bytes. */
function eventBytes(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  return new TransformStream({
    transform(chunk, controller) {
      for (const [, bytes = '[]'] of decoder.decode(chunk).matchAll(/^data: (\[.*\])$/gm)) {
        controller.enqueue(Uint8Array.from(JSON.parse(bytes) as number[]))
      }
    },
  })
}
