import { McpServer } from '@modelcontextprotocol/server'
import { rateLimit } from '@sluice/adapters/mcp'
import { z } from 'zod'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

const limited = rateLimit(limiter, { subject: tenantFromJwt })
const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })
const chat = limited('chat', ({ prompt }: { prompt: string }) => say(`You said: ${prompt}`))

export function createTools(): McpServer {
  const server = new McpServer({ name: 'tools', version: '1.0.0' })
  server.registerTool('chat', { inputSchema: z.object({ prompt: z.string() }) }, chat)
  return server
}
