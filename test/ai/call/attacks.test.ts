import { modelHandler, type ModelApi } from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import { limiterOf, PRICES, used } from '../doors.ts'
import * as recorded from '../recordings.ts'
import { bytesOf, sourceOf } from '../support.ts'

const subject = (): { tenant: string } => ({ tenant: 'acme' })
const messages = [{ role: 'user', content: 'Why is the sky blue?' }]
const CHAT = { model: 'gpt-4o', messages }
const options = { subject, api: 'openai-chat', prices: PRICES } as const

/** The format that these bodies are meant for. */
const apiOf = (body: { model?: string; input?: unknown }): ModelApi => {
  if (body.input !== undefined) return 'openai-responses'
  return body.model?.startsWith('claude') ? 'anthropic-messages' : 'openai-chat'
}

const ask = (body: object): Request =>
  new Request('https://app.example/api/model', { method: 'POST', body: JSON.stringify(body) })

/** Asks a provider that answers this, and returns the micro-dollars that were charged. */
async function chargedFor(
  body: object,
  answer: (sent: Record<string, unknown>) => Response,
  read: (response: Response) => Promise<unknown> = (response) => response.text(),
): Promise<number> {
  const limiter = limiterOf()
  const settled = vi.fn<(...heard: unknown[]) => void>()
  const handle = modelHandler(limiter, { ...options, onUsage: settled }, (call) =>
    answer(JSON.parse(call.body) as Record<string, unknown>),
  )
  const response = await handle(ask(body))
  expect(response.status).toBe(200)
  await read(response)
  await expect.poll(() => settled).toHaveBeenCalledOnce()
  return used(limiter, 'budget.daily')
}

const events = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } })

const chunk = (fields: object): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-4o', choices: [], ...fields })}\n\n`

/** A stream of a few words with hidden reasoning, which tells its usage only if it is asked to. */
const reasoning = (sent: Record<string, unknown>, output: number): Response => {
  const usage = { prompt_tokens: 14, completion_tokens: output, total_tokens: 14 + output }
  const isTold = (sent['stream_options'] as { include_usage?: boolean })?.include_usage === true
  const words = chunk({ choices: [{ index: 0, delta: { content: 'Because.' } }] })
  return events(`${words}${isTold ? chunk({ usage }) : ''}data: [DONE]\n\n`)
}

describe('a client cannot make a call cheaper than it is by', () => {
  it('not asking a stream for its usage', async () => {
    const truth = 14 + 5_000 * 10
    const body = {
      ...CHAT,
      stream: true,
      max_tokens: 8_000,
      stream_options: { include_usage: false },
    }
    expect(await chargedFor(body, (sent) => reasoning(sent, 5_000))).toBe(truth)
  })

  it('hanging up while the model thinks', async () => {
    const { stream } = sourceOf([bytesOf(recorded.CHAT_SSE.slice(0, 300))], 'open')
    const charged = await chargedFor(
      { ...CHAT, stream: true, max_tokens: 3_000 },
      () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
      async (response) => {
        const reader = response.body?.getReader()
        await reader?.read()
        await reader?.cancel()
      },
    )
    // The provider bills what it has thought by then, at most the maximum.
    expect(charged).toBeGreaterThanOrEqual(3_000 * 10)
  })

  it('naming several maxima, one of which the provider does not know', async () => {
    const limiter = limiterOf()
    const sent: Record<string, unknown>[] = []
    const handle = modelHandler(limiter, options, (call) => {
      sent.push(JSON.parse(call.body) as Record<string, unknown>)
      return new Response(null, { status: 204 })
    })
    await handle(ask({ model: 'deepseek-chat', messages, max_completion_tokens: 1 }))
    await handle(ask({ model: 'deepseek-chat', messages, max_output_tokens: 1 }))
    expect(sent.map(({ max_tokens }) => max_tokens)).toEqual([1, 1])
    expect(
      sent.flatMap((body) => Object.keys(body)).filter((name) => /max_[co]/.test(name)),
    ).toEqual([])
  })

  it('asking for many answers', async () => {
    const limiter = limiterOf()
    let held = 0
    const handle = modelHandler(limiter, options, async () => {
      held = await used(limiter, 'budget.daily')
      return Response.json(recorded.CHAT_JSON)
    })
    await handle(ask({ ...CHAT, max_tokens: 100, n: 8 }))
    expect(held).toBeGreaterThanOrEqual(100 * 8 * 10)
  })

  it('being answered by a queue, which has no usage yet', async () => {
    const charged = await chargedFor({ ...CHAT, max_tokens: 1_000 }, () =>
      Response.json({ id: 'resp_1', object: 'response', status: 'queued', usage: null }),
    )
    expect(charged).toBeGreaterThanOrEqual(10_000)
  })

  it('naming a key of the body twice', async () => {
    const limiter = limiterOf()
    const bodies: string[] = []
    const handle = modelHandler(limiter, options, (call) => {
      bodies.push(call.body)
      return Response.json(recorded.CHAT_JSON)
    })
    const text = '{"max_tokens":1,"model":"gpt-4o","messages":[{}],"max_tokens":50}'
    await handle(
      new Request('https://app.example/v1/chat/completions', { method: 'POST', body: text }),
    )
    expect(bodies).toEqual(['{"model":"gpt-4o","messages":[{}],"max_completion_tokens":50}'])
  })

  it.each([
    ['a tier', { ...CHAT, service_tier: 'priority' }],
    ['a search', { ...CHAT, web_search_options: {} }],
    ['a tool of the provider', { model: 'gpt-4o', input: 'x', tools: [{ type: 'web_search' }] }],
    ['a tool without a type', { ...CHAT, tools: [{}] }],
    ['sound', { ...CHAT, modalities: ['text', 'audio'], audio: { voice: 'x' } }],
    ['predicted output', { ...CHAT, prediction: { type: 'content', content: 'x' } }],
    ['work in the background', { model: 'gpt-4o', input: 'x', background: true }],
    ['a list of models', { ...CHAT, models: ['gpt-4o', 'o1'] }],
    ['plugins of a router', { ...CHAT, plugins: [{ id: 'web' }] }],
    ['a choice of providers', { ...CHAT, provider: { order: ['dear'] } }],
    ['a stored prompt', { model: 'gpt-4o', prompt: undefined, input: 'x', prompt_id: 'p' }],
    ['a field that nobody knows', { ...CHAT, turbo: true }],
    ['a field that every object has', { ...CHAT, constructor: 1 }],
    ['the prototype of every object', { ...CHAT, ['__proto__']: { max_tokens: 9 } }],
    ['fast mode', { ...CHAT, model: 'claude-opus-4-5', speed: 'fast' }],
    ['MCP servers', { ...CHAT, model: 'claude-opus-4-5', mcp_servers: [{ url: 'x' }] }],
    [
      'an adviser',
      { ...CHAT, model: 'claude-opus-4-5', tools: [{ type: 'advisor_20260301', name: 'a' }] },
    ],
    [
      'a search of Anthropic',
      { ...CHAT, model: 'claude-opus-4-5', tools: [{ type: 'web_search_20250305', name: 's' }] },
    ],
  ])('asking for %s, which is refused', async (_, body) => {
    const send = vi.fn<() => Response>(() => Response.json({}))
    const handle = modelHandler(limiterOf(), { ...options, api: apiOf(body) }, send)
    const response = await handle(ask(body))
    expect(response.status).toBe(400)
    expect(await response.text()).toMatch(
      /body\.[a-z_]+: may cost more than the tokens that are counted/,
    )
    expect(send).not.toHaveBeenCalled()
  })

  it('asking for a dearer input: a cache is priced as it is written', async () => {
    const limiter = limiterOf()
    let held = 0
    const terms = { ...options, api: 'anthropic-messages' } as const
    const handle = modelHandler(limiter, terms, async () => {
      held = await used(limiter, 'budget.daily')
      return Response.json(recorded.MESSAGES_JSON)
    })
    const text = 'word '.repeat(8_000)
    const call = { ...CHAT, model: 'claude-opus-4-5', max_tokens: 1 }
    const heldFor = async (part: object): Promise<number> => {
      const before = await used(limiter, 'budget.daily')
      const system = [{ type: 'text', text, ...part }]
      await (await handle(ask({ ...call, system }))).text()
      return held - before
    }
    const plain = await heldFor({})
    expect((await heldFor({ cache_control: { type: 'ephemeral' } })) / plain).toBeCloseTo(1.25, 1)
  })
})

it('what is allowed by name is sent', async () => {
  const sent: string[] = []
  const handle = modelHandler(
    limiterOf(),
    { ...options, allowFields: ['service_tier'] },
    (call) => {
      sent.push(call.body)
      return Response.json(recorded.CHAT_JSON)
    },
  )
  expect((await handle(ask({ ...CHAT, service_tier: 'flex' }))).status).toBe(200)
  expect(sent[0]).toContain('"service_tier":"flex"')
})

it.each([
  ['tools of the client', { ...CHAT, tools: [{ type: 'function', function: { name: 'f' } }] }],
  ['the default tier', { ...CHAT, service_tier: 'default' }],
  ['null for nothing', { ...CHAT, service_tier: null, tools: null, stop: null }],
  ['text alone', { ...CHAT, modalities: ['text'] }],
  ['reasoning', { ...CHAT, reasoning_effort: 'high' }],
  ['a format', { ...CHAT, response_format: { type: 'json_object' } }],
  [
    'an editor run by the client',
    {
      ...CHAT,
      model: 'claude-opus-4-5',
      tools: [{ type: 'text_editor_20250728', name: 'edit' }],
    },
  ],
  [
    'thinking',
    { ...CHAT, model: 'claude-opus-4-5', thinking: { type: 'enabled', budget_tokens: 1_024 } },
  ],
])('a call with %s is sent', async (_, body) => {
  const handle = modelHandler(limiterOf(), { ...options, api: apiOf(body) }, () =>
    Response.json(recorded.CHAT_JSON),
  )
  expect((await handle(ask(body))).status).toBe(200)
})
