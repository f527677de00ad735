import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { decisionOf, rateLimit, reservationOf, type RateLimitOptions } from '@sluice/adapters/mcp'
import type { Limiter } from '@sluice/core'
import { z } from 'zod'
import { sameDecision } from '../support.ts'

/** The result of a tool that says these words. */
export const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] })

/** The tools of a server: `search` with an input and an output schema, `now` without, and one that fails. */
export function createServerOf(
  limiter: Limiter,
  options: RateLimitOptions,
  search: () => Promise<void>,
) {
  const server = new McpServer({ name: 'tools', version: '1.0.0' })
  const limited = rateLimit(limiter, options)
  server.registerTool(
    'search',
    { inputSchema: { query: z.string() }, outputSchema: { found: z.string() } },
    limited('search', async ({ query }) => {
      await search()
      return { ...text(query), structuredContent: { found: query } }
    }),
  )
  server.registerTool(
    'now',
    {},
    limited('now', () => text('now')),
  )
  server.registerTool(
    'settle',
    {},
    limited('settle', async (extra) => {
      await sameDecision(reservationOf(extra), decisionOf(extra)).settle({ token: 30 })
      return text('settled')
    }),
  )
  server.registerTool(
    'fail',
    {},
    limited('fail', () => Promise.reject(new Error('The tool failed'))),
  )
  return server
}
