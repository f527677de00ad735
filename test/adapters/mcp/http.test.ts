import { createAdaptorServer } from '@hono/node-server'
import { rateLimit as limitHono } from '@sluice/adapters/hono'
import { rateLimit, type ToolExtra } from '@sluice/adapters/mcp'
import { slidingWindow, type Limiter } from '@sluice/core'
import { Hono } from 'hono'
import { afterEach, describe, expect, it } from 'vitest'
import { perMinute, subject } from '../../core/http/support.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { listen } from '../support.ts'
import { SDKS, text } from './support.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

describe.each(SDKS)('%s of the SDK over HTTP', (_, { handle, overHttp, requestsToConnect }) => {
  /** Returns a function that opens a client of a server without sessions, behind the adapter of Hono. */
  async function connectHttp(tools: Limiter, transports: Limiter) {
    const app = new Hono()
    const answer = handle(tools, { subject }, async () => {})
    app.post('/mcp', limitHono(transports, { subject }), ({ req }) => answer(req.raw))
    const served = await listen(createAdaptorServer(app))
    closing.push(() => served.close())
    return async () => {
      const client = await overHttp(new URL(`${served.url}/mcp`), { 'x-tenant': 'acme' })
      closing.push(() => client.close())
      return client
    }
  }

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
    const open = await connectHttp(perMinute(99), perMinute(requestsToConnect + 1))
    const client = await open()
    await client.callTool({ name: 'now' })
    await expect(client.callTool({ name: 'now' })).rejects.toThrow('rate_limit_exceeded')
  })
})

it('reads the headers of a transport over HTTP/2, in version 1', async () => {
  const tool = rateLimit(perMinute(1), { subject })('now', (_extra: ToolExtra) => text('now'))
  const requestInfo = { headers: { ':method': 'POST', 'x-tenant': 'acme' } }
  const { signal } = new AbortController()
  expect(await tool({ requestInfo, signal })).toMatchObject(text('now'))
})
