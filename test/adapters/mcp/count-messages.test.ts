import { createServer } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { rateLimit as limitExpress } from '@sluice/adapters/express'
import { rateLimit as limitFastify } from '@sluice/adapters/fastify'
import { rateLimit as limitHono } from '@sluice/adapters/hono'
import { countMessages } from '@sluice/adapters/mcp'
import type { Limiter } from '@sluice/core'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { app, perMinute, subject } from '../../core/http/support.ts'
import { ACME } from '../../support/limiters.ts'
import { mistakesAreNamed } from '../../support/mistakes.ts'
import { listen, type Served } from '../support.ts'
import { createServerOf, SDKS } from './support.ts'

const call = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'search', arguments: { query: `[{"a",\\"${id}` } },
})
const batch = (size: number) => JSON.stringify(Array.from({ length: size }, (_, id) => call(id)))

const left = async (limiter: Limiter) =>
  (await limiter.peek(ACME, { cost: 0 })).policies[0]?.remaining

const echo = async (request: Request) => new Response(await request.bytes())

describe('the messages of a body', () => {
  const text = JSON.stringify('"[,]\\"{}\\\\,é🎉')
  it.each([
    ['no list', JSON.stringify(call(1)), 1],
    ['a list of one', batch(1), 1],
    ['a list of a hundred', batch(100), 100],
    ['an empty list', '[]', 1],
    ['a list behind white space', ` \r\n\t${batch(3)}\n`, 3],
    ['a list behind a byte order mark', `\uFEFF${batch(3)}`, 3],
    ['texts with brackets, quotes and commas', `[${text},{${text}:${text}},[${text},[]]]`, 3],
    ['a message that is a list itself', '[[1,2,3],[4,[5,6]],{"a":[7,8]}]', 3],
    ['text that is not JSON', 'a,b,c', 1],
    ['no body', undefined, 1],
  ])('of %s are counted, and the handler gets it', async (_, body, count) => {
    const limiter = perMinute(200)
    const bytes = new TextEncoder().encode(body)
    // Chunks of one byte, so that it makes no difference where a body is cut.
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    for (const init of [{ body }, { body: stream, duplex: 'half' } as RequestInit]) {
      const ask = app(limiter, { cost: countMessages() }, echo)
      const before = Number(await left(limiter))
      const answer = await ask({}, { method: 'POST', ...init } as RequestInit)
      expect(await answer.bytes()).toEqual(bytes)
      expect(before - Number(await left(limiter))).toBe(count)
    }
  })

  it('are read as far as the bound, and no further', async () => {
    const limiter = perMinute(3)
    const ask = app(limiter, { cost: countMessages({ maxBodyBytes: 1_000 }) })
    let pulled = 0
    const endless = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled += 1
          controller.enqueue(new Uint8Array(100).fill(32))
        },
      },
      { highWaterMark: 0 },
    )
    const announced = { 'content-length': '1001' }
    const answers = [
      await ask({}, { method: 'POST', body: endless, duplex: 'half' } as RequestInit),
      await ask(announced, { method: 'POST', body: 'a' }),
      await ask({}, { method: 'POST', body: ' '.repeat(1_000) }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([413, 413, 200])
    expect(await answers[0]?.json()).toEqual({
      error: 'body_too_large',
      message: 'body: must be at most 1000 bytes',
    })
    expect(pulled).toBeLessThanOrEqual(12)
    // Each of them is a request.
    expect(await left(limiter)).toBe(0)
  })
})

/** Counts the tools that run. */
let ran = 0
const search = async () => {
  ran += 1
}
const tools = () => createServerOf(perMinute(999), { subject }, search)

type ServeMcp = (limiter: Limiter) => Promise<Served>

const inHono: ServeMcp = async (limiter) => {
  const hono = new Hono()
  hono.use('/mcp', limitHono(limiter, { subject, cost: countMessages() }))
  hono.post('/mcp', async ({ req }) => {
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await tools().connect(transport)
    return transport.handleRequest(req.raw)
  })
  return listen(createAdaptorServer(hono))
}

const inHono2: ServeMcp = async (limiter) => {
  const hono = new Hono()
  const answer = SDKS[1]?.[1].handle(perMinute(999), { subject }, search)
  const limit = limitHono(limiter, { subject, cost: countMessages() })
  hono.post('/mcp', limit, ({ req }) => answer?.(req.raw) as Promise<Response>)
  return listen(createAdaptorServer(hono))
}

const inExpress: ServeMcp = async (limiter) => {
  const limit = limitExpress(limiter, { subject, cost: countMessages() })
  const server = express().set('env', 'test').use(express.json())
  server.post('/mcp', limit, (req, res, next) => {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    tools()
      .connect(transport as never)
      .then(() => transport.handleRequest(req, res, req.body))
      .catch(next)
  })
  return listen(createServer(server))
}

const inFastify: ServeMcp = async (limiter) => {
  const server = fastify({ forceCloseConnections: true })
  server.register(limitFastify(limiter, { subject, hook: 'preHandler', cost: countMessages() }))
  server.register(async (inner) => {
    inner.post('/mcp', async ({ raw, body }, reply) => {
      reply.hijack()
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      await tools().connect(transport)
      await transport.handleRequest(raw, reply.raw, body)
    })
  })
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  return { url, close: () => server.close() }
}

describe.each([
  ['Hono', inHono],
  ['Hono, of version 2 of the SDK', inHono2],
  ['Express', inExpress],
  ['Fastify', inFastify],
])('an MCP endpoint in %s', (_, serve) => {
  let served: Served | undefined
  afterEach(async () => {
    await served?.close()
    ran = 0
  })

  const send = async (body: string) => {
    const headers = {
      'x-tenant': 'acme',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    }
    return fetch(`${served?.url}/mcp`, { method: 'POST', headers, body })
  }

  it('charges a batch by its messages, and runs no tool of one that does not fit', async () => {
    const limiter = perMinute(20)
    served = await serve(limiter)
    const allowed = await send(batch(15))
    expect(allowed.status).toBe(200)
    expect((await allowed.text()).match(/"jsonrpc"/g)).toHaveLength(15)
    expect([ran, await left(limiter)]).toEqual([15, 5])
    expect((await send(batch(6))).status).toBe(429)
    expect((await send(batch(100))).status).toBe(429)
    expect([ran, await left(limiter)]).toEqual([15, 5])
    expect((await send(JSON.stringify(call(1)))).status).toBe(200)
    expect([ran, await left(limiter)]).toEqual([16, 4])
  })
})

it('is an error that names the remedy where a framework has not parsed the body', async () => {
  const errors: unknown[] = []
  const limit = limitExpress(perMinute(9), { subject, cost: countMessages() })
  const server = express().set('env', 'test').use(limit)
  server.use((error: unknown, _req: unknown, res: express.Response, _next: unknown) => {
    errors.push(error)
    res.sendStatus(500)
  })
  const served = await listen(createServer(server))
  const headers = { 'x-tenant': 'acme', 'content-type': 'application/json' }
  const answer = await fetch(served.url, { method: 'POST', headers, body: batch(2) })
  await served.close()
  expect(answer.status).toBe(500)
  expect(errors).toMatchObject([{ code: 'invalid_option', option: 'countMessages' }])
  expect(String(errors[0])).toContain('express.json()')
})

describe('options are checked at once', () => {
  mistakesAreNamed([
    ['no bytes', () => countMessages({ maxBodyBytes: 0 }), 'countMessages.maxBodyBytes'],
    [
      'a misspelt option',
      () => countMessages({ maxBytes: 1 } as never),
      'countMessages.maxBytes',
      'unknown_option',
    ],
  ])
})
