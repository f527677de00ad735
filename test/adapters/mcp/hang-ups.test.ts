import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { rateLimit } from '@sluice/adapters/mcp'
import express from 'express'
import { hangUpCases } from '../hang-ups.ts'
import { listen, type Serve } from '../support.ts'
import { text } from './support.ts'

const serve: Serve = ({ limiter, options, chat }) => {
  const limited = rateLimit(limiter, options)
  const app = express().set('env', 'test')
  app.post('/mcp', express.json(), (req, res, next) => {
    const server = new McpServer({ name: 'tools', version: '1.0.0' })
    server.registerTool(
      'chat',
      {},
      limited('chat', () => text(chat())),
    )
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined } as never)
    server
      .connect(transport as never)
      .then(() => transport.handleRequest(req, res, req.body))
      .catch(next)
  })
  return listen(createServer(app))
}

hangUpCases(serve, {
  message: {
    path: '/mcp',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'chat', arguments: {} },
    }),
  },
})
