import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer } from 'node:https'
import type { Duplex } from 'node:stream'
import Anthropic from '@anthropic-ai/sdk'
import { budget, usd } from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { createLimiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import OpenAI, { AzureOpenAI } from 'openai'
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { addressOf } from '../../e2e/support/ports.ts'
import { CERTIFICATE } from '../../support/certificate.ts'
import { CHAT_JSON, MESSAGES_JSON } from '../recordings.ts'

const KEY = 'sk-real-key-of-the-operator'
const calls: IncomingHttpHeaders[] = []
const sockets: string[] = []
const open: Duplex[] = []

/** A provider of model calls over HTTP, and of WebSockets, which notes what it is sent. */
const provider = createServer(CERTIFICATE, (request, response) => {
  calls.push(request.headers)
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(request.url?.includes('messages') ? MESSAGES_JSON : CHAT_JSON))
})
provider.on('upgrade', ({ rawHeaders, url, headers }, socket: Duplex) => {
  sockets.push([url, ...rawHeaders].join(' '))
  open.push(socket)
  const [protocol] = (headers['sec-websocket-protocol'] ?? '').split(', ')
  // https://datatracker.ietf.org/doc/html/rfc6455#section-1.3
  const accept = createHash('sha1')
    .update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  lines.push(`Sec-WebSocket-Accept: ${accept}`)
  if (protocol) lines.push(`Sec-WebSocket-Protocol: ${protocol}`)
  socket.on('error', () => undefined)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
})

let baseURL: string
beforeAll(async () => {
  // Realtime connects by TLS alone.
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  baseURL = `https://127.0.0.1:${addressOf(provider).port}/v1`
})
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy()
  calls.length = sockets.length = 0
})
afterAll(() => {
  vi.unstubAllEnvs()
  provider.closeAllConnections()
  provider.close()
})

const budgetOf = () => ({ store: memory(), tenant: usd(1) })
const azure = { endpoint: undefined, apiVersion: '2026-01-01', deployment: 'gpt-4o' }

/** Clients by the place of their key, and the header of a call that has it. */
const CLIENTS = {
  'a key': () => new OpenAI({ apiKey: KEY, baseURL }),
  'a function': () => new OpenAI({ apiKey: async () => KEY, baseURL }),
  'a default header': () =>
    new OpenAI({ apiKey: 'none', baseURL, defaultHeaders: { 'cf-aig-authorization': KEY } }),
  'default headers as a list': () =>
    new OpenAI({ apiKey: 'none', baseURL, defaultHeaders: new Headers({ authorization: KEY }) }),
  'Azure, a key': () => new AzureOpenAI({ ...azure, apiKey: KEY, baseURL }),
  'Azure, a function': () =>
    new AzureOpenAI({ ...azure, azureADTokenProvider: async () => KEY, baseURL }),
} as const

/** Each way to open a WebSocket with a client. */
const SOCKETS: Readonly<Record<string, (client: OpenAI) => Promise<unknown>>> = {
  ResponsesWS: async (client) => new ResponsesWS(client),
  OpenAIRealtimeWS: async (client) =>
    client instanceof AzureOpenAI
      ? OpenAIRealtimeWS.azure(client)
      : OpenAIRealtimeWS.create(client, { model: 'gpt-realtime' }),
  OpenAIRealtimeWebSocket: async (client) =>
    client instanceof AzureOpenAI
      ? OpenAIRealtimeWebSocket.azure(client)
      : OpenAIRealtimeWebSocket.create(client, { model: 'gpt-realtime' }),
}

const cells = Object.keys(CLIENTS).flatMap((client) =>
  Object.keys(SOCKETS)
    // The SDK opens none by a function, and some without default headers.
    .filter((socket) => !(client.includes('function') && socket === 'ResponsesWS'))
    .filter((socket) => !(client.includes('default') && socket === 'OpenAIRealtimeWebSocket'))
    .map((socket) => ({ client: client as keyof typeof CLIENTS, socket })),
)
const messages = [{ role: 'user' as const, content: 'Why?' }]
const closedVault = async (): Promise<string> => {
  throw new Error('the vault is closed')
}
const hasKey = (headers: IncomingHttpHeaders): boolean => JSON.stringify(headers).includes(KEY)

describe('a client of withBudget', () => {
  it.each(cells)(
    'opens no $socket with $client, and makes calls with it',
    async ({ client, socket }) => {
      const bare = CLIENTS[client]()
      const budgeted = withBudget(bare, budgetOf())('acme')
      const opened = async (one: OpenAI): Promise<string | undefined> => {
        const from = sockets.length
        const made = (await SOCKETS[socket]?.(one)) as { on(name: string, hear: () => void): void }
        made.on('error', () => undefined)
        await expect.poll(() => sockets.length).toBeGreaterThan(from)
        return sockets[from]
      }
      // Otherwise the test could not see it.
      expect(await opened(bare)).toContain(KEY)
      expect(await opened(budgeted)).not.toContain(KEY)

      await budgeted.chat.completions.create({ model: 'gpt-4o', messages })
      await budgeted.chat.completions.create({ model: 'gpt-4o', messages })
      expect(calls.map(hasKey)).toEqual([true, true])
      expect(JSON.stringify(calls)).not.toContain('withBudget')
      // By now a function has been asked for the key.
      expect(await opened(budgeted)).not.toContain(KEY)
    },
  )

  it.each([
    ['a key', () => new Anthropic({ apiKey: KEY, baseURL })],
    ['a function', () => new Anthropic({ apiKey: async () => KEY, baseURL })],
    ['a token', () => new Anthropic({ authToken: KEY, apiKey: null, baseURL })],
  ])('makes calls of Anthropic with %s', async (_, make) => {
    const anthropic = withBudget(make(), budgetOf())('acme')
    for (let call = 0; call < 2; call += 1) {
      await anthropic.messages.create({ model: 'claude-opus-4-6', max_tokens: 50, messages })
    }
    expect(calls.map(hasKey)).toEqual([true, true])
    expect(JSON.stringify(calls)).not.toContain('withBudget')
  })

  it('sends the key that its client has at the time', async () => {
    const bare = new OpenAI({ apiKey: 'old', baseURL })
    const budgeted = withBudget(bare, budgetOf())('acme')
    bare.apiKey = KEY
    await budgeted.chat.completions.create({ model: 'gpt-4o', messages })
    expect(calls.map(hasKey)).toEqual([true])
  })

  it('charges nothing for a call whose key is not to be had', async () => {
    const { store, tenant } = budgetOf()
    const openai = withBudget(new OpenAI({ apiKey: closedVault, baseURL, maxRetries: 0 }), {
      store,
      tenant,
    })
    await expect(
      openai('acme').chat.completions.create({ model: 'gpt-4o', messages }),
    ).rejects.toThrow(/Connection error/)
    const limiter = createLimiter({
      store,
      policies: [budget({ name: 'tenant', daily: tenant, per: ['tenant'] })],
    })
    const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { usd: 0 } })
    expect(policies[0]?.remaining).toBe(tenant)
  })

  it.each([
    ['itself', (bare: OpenAI) => bare],
    ['a copy with its own fetch', (bare: OpenAI) => bare.withOptions({ maxRetries: 0 })],
    ['nothing', () => undefined],
  ])('is refused if withOptions returns %s', (_, copy) => {
    const client = new OpenAI({ apiKey: KEY, baseURL })
    client.withOptions = (() => copy(new OpenAI({ apiKey: KEY, baseURL }))) as never
    expect(() => withBudget(client, budgetOf())).toThrow(
      /withBudget\.client: must take the option fetch in withOptions: the copy has another fetch/,
    )
  })
})
