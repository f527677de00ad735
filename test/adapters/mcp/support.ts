import {
  Client as Client2,
  StreamableHTTPClientTransport as HttpClient2,
} from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpClient1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  createMcpHandler,
  InMemoryTransport as InMemoryTransport2,
  McpServer as Server2,
} from '@modelcontextprotocol/server'
import {
  decisionOf,
  rateLimit,
  reservationOf,
  type RateLimitOptions,
  type ToolExtra,
} from '@sluice/adapters/mcp'
import type { Limiter } from '@sluice/core'
import { z } from 'zod'
import { sameDecision } from '../support.ts'

/** The result of a tool that says these words. */
export const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] })

type Search = () => Promise<void>

const info = { name: 'tools', version: '1.0.0' }
const found = (query: string) => ({ ...text(query), structuredContent: { found: query } })
const settle = async (extra: ToolExtra) => {
  await sameDecision(reservationOf(extra), decisionOf(extra)).settle({ token: 30 })
  return text('settled')
}
const fail = (_extra: ToolExtra) => Promise.reject(new Error('The tool failed'))

/** The tools of a server: `search` with an input and an output schema, `now` without, and one that fails. */
export function createServerOf(limiter: Limiter, options: RateLimitOptions, search: Search) {
  const server = new Server1(info)
  const limited = rateLimit(limiter, options)
  server.registerTool(
    'search',
    { inputSchema: { query: z.string() }, outputSchema: { found: z.string() } },
    limited('search', async ({ query }) => {
      await search()
      return found(query)
    }),
  )
  server.registerTool(
    'now',
    {},
    limited('now', () => text('now')),
  )
  server.registerTool('settle', {}, limited('settle', settle))
  server.registerTool('fail', {}, limited('fail', fail))
  return server
}

/** The same tools in version 2 of the SDK. */
function createServer2Of(limiter: Limiter, options: RateLimitOptions, search: Search) {
  const server = new Server2(info)
  const limited = rateLimit(limiter, options)
  server.registerTool(
    'search',
    {
      inputSchema: z.object({ query: z.string() }),
      outputSchema: z.object({ found: z.string() }),
    },
    limited('search', async ({ query }) => {
      await search()
      return found(query)
    }),
  )
  server.registerTool(
    'now',
    {},
    limited('now', () => text('now')),
  )
  server.registerTool('settle', {}, limited('settle', settle))
  server.registerTool('fail', {}, limited('fail', fail))
  return server
}

/** A client of the tools. */
interface ToolClient {
  readonly callTool: (params: { name: string; arguments?: Record<string, unknown> }) => Promise<{
    readonly isError?: boolean | undefined
    readonly content?: unknown
    readonly structuredContent?: unknown
    readonly _meta?: Record<string, unknown> | undefined
  }>
  readonly listTools: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/** A version of the SDK: its server, its client, and an endpoint over HTTP. */
export interface Sdk {
  readonly inMemory: (
    limiter: Limiter,
    options: RateLimitOptions,
    search: Search,
  ) => Promise<ToolClient>
  readonly handle: (
    limiter: Limiter,
    options: RateLimitOptions,
    search: Search,
  ) => (request: Request) => Promise<Response>
  readonly overHttp: (url: URL, headers: Record<string, string>) => Promise<ToolClient>
  /** Requests to the endpoint before a tool is called. */
  readonly requestsToConnect: number
}

const version1: Sdk = {
  async inMemory(...values) {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await createServerOf(...values).connect(ours)
    const client = new Client1(info)
    await client.connect(theirs)
    return client
  },
  handle:
    (...values) =>
    async (request) => {
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
      await createServerOf(...values).connect(transport)
      return transport.handleRequest(request)
    },
  async overHttp(url, headers) {
    const client = new Client1(info)
    await client.connect(new HttpClient1(url, { requestInit: { headers } }))
    return client
  },
  requestsToConnect: 2,
}

const version2: Sdk = {
  async inMemory(...values) {
    const [ours, theirs] = InMemoryTransport2.createLinkedPair()
    await createServer2Of(...values).connect(ours)
    const client = new Client2(info)
    await client.connect(theirs)
    return client
  },
  handle: (...values) => createMcpHandler(() => createServer2Of(...values)).fetch,
  async overHttp(url, headers) {
    // Over HTTP by the protocol of 2026-07-28, in memory by the one before.
    const client = new Client2(info, { versionNegotiation: { mode: 'auto' } })
    await client.connect(new HttpClient2(url, { requestInit: { headers } }))
    return client
  },
  requestsToConnect: 1,
}

/** The versions of the SDK, by name. */
export const SDKS: readonly (readonly [name: string, Sdk])[] = [
  ['version 1', version1],
  ['version 2', version2],
]
