import { createServer } from 'node:http'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { rateLimit as rateLimitHttp } from '@sluice/adapters/express'
import { rateLimit, type ToolExtra } from '@sluice/adapters/mcp'
import { slidingWindow, type Limiter } from '@sluice/core'
import express from 'express'
import { afterEach, describe, expect, it } from 'vitest'
import { perMinute, subject } from '../../core/http/support.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { listen } from '../support.ts'
import { createServerOf, text } from './support.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A server without sessions, behind the adapter of Express. */
async function connectHttp(tools: Limiter, transports: Limiter) {
  const app = express().set('env', 'test')
  const limit = rateLimitHttp(transports, { subject })
  app.post('/mcp', express.json(), limit, (req, res, next) => {
    const server = createServerOf(tools, { subject }, async () => {})
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: undefined,
    } as never)
    server
      .connect(transport as never)
      .then(() => transport.handleRequest(req, res, req.body))
      .catch(next)
  })
  const served = await listen(createServer(app))
  closing.push(() => served.close())
  return async () => {
    const client = new Client({ name: 'client', version: '1.0.0' })
    closing.push(() => client.close())
    const headers = { 'x-tenant': 'acme' }
    const url = new URL(`${served.url}/mcp`)
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    return client
  }
}

describe('over HTTP', () => {
  const redis = sharedRedisOverHttp()

  it('finds the subject in the headers, and denies exactly 5 of 25 calls at a limit of 20', async () => {
    const policy = slidingWindow({ name: 'rpm', limit: 20, window: '1h', per: ['tenant'] })
    const { limiter } = redis.setUp([policy], { onStoreError: 'deny' })
    const client = await (await connectHttp(limiter, perMinute(99)))()
    const calls = Array.from({ length: 25 }, () => client.callTool({ name: 'now' }))
    const denied = (await Promise.all(calls)).filter(({ isError }) => isError === true)
    expect(denied.length).toBe(5)
  })

  it('answers 429 at the transport, if the endpoint is limited, too', async () => {
    const open = await connectHttp(perMinute(99), perMinute(3))
    // To connect takes two requests.
    const client = await open()
    await client.callTool({ name: 'now' })
    await expect(client.callTool({ name: 'now' })).rejects.toMatchObject({ code: 429 })
  })
})

it('reads the headers of a transport over HTTP/2', async () => {
  const tool = rateLimit(perMinute(1), { subject })('now', (_extra: ToolExtra) => text('now'))
  const requestInfo = { headers: { ':method': 'POST', 'x-tenant': 'acme' } }
  const { signal } = new AbortController()
  expect(await tool({ requestInfo, signal } as never)).toMatchObject(text('now'))
})
