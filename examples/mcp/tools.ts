import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { rateLimit } from '@sluice/adapters/mcp'
import { z } from 'zod'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

const limited = rateLimit(limiter, { subject: tenantFromJwt })
const says = (text: string) => ({ content: [{ type: 'text' as const, text }] })

export function createTools(): McpServer {
  const server = new McpServer({ name: 'tools', version: '1.0.0' })
  const config = { inputSchema: { prompt: z.string() } }
  server.registerTool(
    'chat',
    config,
    limited('chat', ({ prompt }) => says(`You said: ${prompt}`)),
  )
  return server
}
