/* A response of HTTP/1.1 that waits for others on its connection, as it is in Node.js 20 and 22: nobody closes it. */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { rateLimit as limitExpress } from '@sluice/adapters/express'
import { rateLimit as limitFastify } from '@sluice/adapters/fastify'
import { rateLimit as limitH3 } from '@sluice/adapters/h3'
import { rateLimit as limitHono } from '@sluice/adapters/hono'
import { concurrency, createLimiter, type Limiter } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import express from 'express'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { Hono } from 'hono'
import { expect, it, vi } from 'vitest'
import { ACME } from '../support/limiters.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

const terms = { subject: () => ACME, cost: reserving(1) }
const silent = () => new ReadableStream<Uint8Array>()

const FRAMEWORKS: Readonly<Record<string, (limiter: Limiter) => Promise<Handler>>> = {
  Express: async (limiter) =>
    express().get('/', limitExpress(limiter, terms), (_, res) => void res.write('begun')),
  async Fastify(limiter) {
    const app = fastify()
    app.register(limitFastify(limiter, terms))
    app.get('/', async () => silent())
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  async Hono(limiter) {
    const app = new Hono().use(limitHono(limiter, terms)).get('/', (c) => c.body(silent()))
    return getRequestListener(app.fetch, { overrideGlobalObjects: false })
  },
  async H3(limiter) {
    const app = new H3({ silent: true }).use(limitH3(limiter, terms)).get('/', silent)
    return toNodeHandler(app)
  },
}

/** More than the listeners that Node.js lets an emitter have. */
const REQUESTS = 15

it.each(
  Object.keys(FRAMEWORKS).flatMap((name) => [
    { name, when: 'while it waits', isGone: false },
    { name, when: 'before it is limited', isGone: true },
  ]),
)('is closed once, and frees its slot in $name, if its socket closes $when', async (row) => {
  const warn = vi.spyOn(process, 'emitWarning')
  const store = memory()
  const check = vi.spyOn(store, 'check')
  const limiter = createLimiter({
    store,
    policies: [concurrency({ name: 'in-flight', limit: REQUESTS, per: ['tenant'] })],
  })
  const free = async () => (await limiter.peek(ACME, { cost: { call: 0 } })).policies[0]?.remaining
  const handle = await FRAMEWORKS[row.name]?.(limiter)
  const socket = new Socket()
  if (row.isGone) socket.destroy()
  const closed = Array.from({ length: REQUESTS }, () => {
    const request = new IncomingMessage(socket)
    Object.assign(request, { method: 'GET', url: '/', httpVersion: '1.1', httpVersionMajor: 1 })
    request.headers.host = 'app.example'
    request.push(null)
    const response = new ServerResponse(request)
    const close = vi.fn<() => void>()
    response.on('close', close)
    handle?.(request, response)
    return close
  })
  await expect.poll(() => check.mock.settledResults.length).toBe(REQUESTS)
  await expect.poll(free).toBe(row.isGone ? REQUESTS : 0)
  socket.destroy()
  await expect.poll(free).toBe(REQUESTS)
  expect(closed.map(({ mock }) => mock.calls.length)).toEqual(Array(REQUESTS).fill(1))
  expect(warn).not.toHaveBeenCalled()
})
