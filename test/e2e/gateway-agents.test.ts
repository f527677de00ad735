import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  chat,
  message,
  OPERATOR,
  post,
  startRedisStack,
  type RedisStack,
} from './support/gateway.ts'

let gateway: RedisStack
let { keys, provider } = {} as Pick<RedisStack, 'keys' | 'provider'>
let key: string
beforeAll(async () => {
  gateway = await startRedisStack({ MAX_BODY_BYTES: '8000000' })
  ;({ keys, provider } = gateway)
  ;({ key } = await keys.create('enterprise'))
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => provider.reset())

/** Reads a stream to its end. */
async function read(events: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of events) count += 1
  return count
}

const claudeCode = () =>
  new Anthropic({
    apiKey: null,
    authToken: key,
    baseURL: gateway.url,
    maxRetries: 0,
    defaultHeaders: {
      'x-app': 'cli',
      'user-agent': 'claude-cli/2.1.300 (external, cli)',
      'x-claude-code-session-id': '5f6a',
      'x-claude-code-agent-id': 'agent_1',
    },
  })

// https://code.claude.com/docs/en/llm-gateway-protocol
describe('Claude Code, with ANTHROPIC_BASE_URL and ANTHROPIC_AUTH_TOKEN', () => {
  const betas = [
    'claude-code-20250219',
    'interleaved-thinking-2025-05-14',
    'context-management-2025-06-27',
    'advanced-tool-use-2025-11-20',
  ]
  const cache_control = { type: 'ephemeral' as const }
  const read_file = {
    name: 'Read',
    description: 'Reads a file.',
    input_schema: { type: 'object' as const, properties: { path: { type: 'string' } } },
  }
  const turn = {
    model: message.model,
    max_tokens: 32_000,
    system: [
      { type: 'text' as const, text: 'cc_version=2.1.300' },
      { type: 'text' as const, text: 'You are Claude Code.', cache_control },
    ],
    messages: [
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'Why?', cache_control }] },
    ],
    tools: [read_file, { ...read_file, name: 'Search', defer_loading: true }],
    metadata: { user_id: 'user_1_session_2' },
    context_management: {
      edits: [{ type: 'clear_thinking_20251015' as const, keep: 'all' as const }],
    },
    betas,
  }

  it('streams a turn with tools, whose fields and betas reach Anthropic together', async () => {
    expect(
      await read(await claudeCode().beta.messages.create({ ...turn, stream: true })),
    ).toBeGreaterThan(3)
    const { path, body, headers } = provider.requests.at(-1) ?? {}
    const { betas: _, ...sent } = turn
    expect([path, body]).toEqual([
      '/v1/messages',
      { ...sent, max_tokens: expect.any(Number), stream: true },
    ])
    expect(headers?.['anthropic-beta']?.split(',')).toEqual([
      'interleaved-thinking-2025-05-14',
      'context-management-2025-06-27',
      'advanced-tool-use-2025-11-20',
    ])
    expect(headers).toMatchObject({
      'x-api-key': OPERATOR.anthropic,
      'anthropic-version': expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    })
    expect(headers?.['authorization']).toBeUndefined()
    expect(headers?.['x-claude-code-session-id']).toBeUndefined()
  })

  it('counts tokens, and finds the models', async () => {
    provider.respond = () => Response.json({ input_tokens: 14 })
    const { model, messages, tools } = turn
    const counted = await claudeCode().beta.messages.countTokens({ model, messages, tools, betas })
    expect(counted.input_tokens).toBe(14)
    const headers = {
      authorization: `Bearer ${key}`,
      'x-api-key': key,
      'anthropic-version': '2023-06-01',
    }
    const found = await fetch(`${gateway.url}/v1/models?limit=1000`, { headers, redirect: 'error' })
    const { data } = (await found.json()) as { data: { id: string }[] }
    expect(data.some(({ id }) => id.includes('claude'))).toBe(true)
    const probe = await fetch(`${gateway.url}/api/hello`, { method: 'HEAD' })
    expect(probe.status).toBe(404)
  })

  it('gets an error of Anthropic with its own words, by which it goes on', async () => {
    const error = {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'thinking: Extra inputs are not permitted' },
    }
    provider.respond = () => Response.json(error, { status: 400 })
    const sent = claudeCode().beta.messages.create({ ...turn, stream: true })
    await expect(sent).rejects.toMatchObject({ status: 400, error })
  })

  it('sends an image of more than 4 MB', async () => {
    const data = 'QUJD'.repeat(1_500_000)
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data }
    const messages = [{ role: 'user' as const, content: [{ type: 'image' as const, source }] }]
    await read(await claudeCode().beta.messages.create({ ...turn, messages, stream: true }))
    expect(provider.requests.at(-1)?.body['messages']).toEqual(messages)
  })
})

const codex = () =>
  new OpenAI({
    apiKey: key,
    baseURL: `${gateway.url}/v1`,
    maxRetries: 0,
    defaultHeaders: { originator: 'codex_cli_rs', session_id: 'thread_1', version: '0.162.1' },
  })

// https://developers.openai.com/codex/config-advanced, and its open source
describe('Codex, with a provider whose wire_api is responses', () => {
  const turn = {
    model: chat.model,
    instructions: 'You are Codex.',
    input: [
      {
        type: 'message' as const,
        role: 'user' as const,
        content: [{ type: 'input_text' as const, text: 'Why?' }],
      },
    ],
    tools: [
      {
        type: 'function' as const,
        name: 'exec_command',
        strict: false,
        parameters: { type: 'object', properties: {} },
      },
      { type: 'custom' as const, name: 'apply_patch' },
    ],
    tool_choice: 'auto' as const,
    parallel_tool_calls: true,
    reasoning: { effort: 'medium' as const, summary: 'auto' as const },
    store: false,
    stream: true as const,
    include: ['reasoning.encrypted_content' as const],
    prompt_cache_key: 'thread_1',
    text: { verbosity: 'low' as const },
    client_metadata: { 'x-codex-installation-id': '0f9c1d3e' },
  }

  it('streams a turn with tools', async () => {
    expect(await read(await codex().responses.create(turn))).toBeGreaterThan(3)
    const { path, body, headers } = provider.requests.at(-1) ?? {}
    expect([path, body]).toMatchObject(['/v1/responses', turn])
    expect(headers?.['authorization']).toBe(`Bearer ${OPERATOR.openai}`)
    expect(headers?.['session_id']).toBeUndefined()
  })

  it('is told to leave out the search of the web, which costs more than tokens', async () => {
    const answer = await post(
      `${gateway.url}/v1/responses`,
      { ...turn, tools: [...turn.tools, { type: 'web_search', external_web_access: false }] },
      { authorization: `Bearer ${key}` },
    )
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('tools')
  })
})

it('refuses a body above MAX_BODY_BYTES', async () => {
  const messages = [{ role: 'user', content: 'u'.repeat(8_000_001) }]
  for (const [path, model] of [
    ['/v1/messages', message.model],
    ['/v1/chat/completions', chat.model],
    ['/v1/messages/count_tokens', message.model],
  ] as const) {
    const answer = await post(
      gateway.url + path,
      { model, max_tokens: 9, messages },
      { 'x-api-key': key },
    )
    expect(answer.status, `at ${path}`).toBe(413)
  }
})
