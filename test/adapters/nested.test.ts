import { createServer } from 'node:http'
import { rateLimit as expressLimit } from '@sluice/adapters/express'
import { rateLimit as fastifyLimit } from '@sluice/adapters/fastify'
import { rateLimit as honoLimit } from '@sluice/adapters/hono'
import { rateLimit as toolLimit, type ToolExtra } from '@sluice/adapters/mcp'
import type { HeaderStyle } from '@sluice/core/http'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { perMinute, subject } from '../core/http/support.ts'
import { listen } from './support.ts'

type Styles = readonly HeaderStyle[] | false

const asTenant = { headers: { 'x-tenant': 'acme', origin: 'https://page.example' } }

/** Asks an app twice whose limiter of 50 is around one of 1. */
type AskTwice = (outer: Styles) => Promise<readonly [Response, Response]>

const inHono: AskTwice = async (headers) => {
  const app = new Hono()
  app.use('*', honoLimit(perMinute(50), { subject, headers }))
  app.use('*', honoLimit(perMinute(1), { subject }))
  app.get('/', (c) => c.text('answer'))
  const ask = async () => app.request('/', asTenant)
  return [await ask(), await ask()]
}

const inExpress: AskTwice = async (headers) => {
  const app = express()
  app.use(expressLimit(perMinute(50), { subject, headers }))
  app.use(expressLimit(perMinute(1), { subject }))
  app.get('/', (_, res) => void res.send('answer'))
  const served = await listen(createServer(app))
  try {
    return [await fetch(served.url, asTenant), await fetch(served.url, asTenant)]
  } finally {
    await served.close()
  }
}

const inFastify: AskTwice = async (headers) => {
  const app = fastify({ forceCloseConnections: true })
  app.register(fastifyLimit(perMinute(50), { subject, headers }))
  app.register(async (inner) => {
    inner.register(fastifyLimit(perMinute(1), { subject }))
    inner.get('/', async () => 'answer')
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  try {
    return [await fetch(url, asTenant), await fetch(url, asTenant)]
  } finally {
    await app.close()
  }
}

describe.each([
  ['Hono', inHono],
  ['Express', inExpress],
  ['Fastify', inFastify],
])('in %s, a limiter around another one', (_, askTwice) => {
  it('shows its own headers, except beside those of a denial', async () => {
    const [allowed, denied] = await askTwice(['x-ratelimit', 'draft', 'openai'])
    expect(allowed.status).toBe(200)
    expect(allowed.headers.get('x-ratelimit-limit')).toBe('50')
    expect(allowed.headers.get('ratelimit-policy')).toBe('"rpm";q=50;w=60')
    expect(denied.status).toBe(429)
    expect(denied.headers.get('x-ratelimit-limit')).toBe('1')
    expect(denied.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(denied.headers.get('ratelimit')).toBe('"rpm";r=0;t=60')
    expect(denied.headers.has('retry-after')).toBe(true)
    expect(denied.headers.has('x-ratelimit-remaining-requests')).toBe(false)
    expect(denied.headers.get('access-control-expose-headers')).toContain('Retry-After')
  })

  it('leaves the headers to the other one if it has none', async () => {
    const [allowed] = await askTwice([])
    expect(allowed.headers.get('x-ratelimit-limit')).toBe('1')
  })
})

const tool = () => ({ content: [{ type: 'text' as const, text: 'now' }] })

it('a limiter of a tool leaves the denial of another one as it is', async () => {
  const outer = toolLimit(perMinute(50), { subject: () => ({ tenant: 'acme' }) })
  const inner = toolLimit(perMinute(1), { subject: () => ({ tenant: 'acme' }) })
  const call = outer('now', inner<[ToolExtra]>('now', tool))
  const extra = { signal: new AbortController().signal } as ToolExtra
  const meta = async () => {
    const { _meta: facts } = await call(extra)
    return facts?.['sluice/rate-limit']
  }
  expect(await meta()).toMatchObject({ 'X-RateLimit-Limit': '50' })
  expect(await meta()).toMatchObject({ error: 'rate_limit_exceeded', policy: 'rpm' })
})
