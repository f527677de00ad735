import { rateLimit } from '@sluice/cloudflare'
import { reservationOf, reserving } from '@sluice/core/http'
import {
  boundInput,
  meter,
  prepareModelCalls,
  type ModelApi,
  type PrepareOptions,
} from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { limiterOf, PRICES, subject, used } from '../doors.ts'

type Body = Readonly<Record<string, unknown>>

/** The output of a model that nobody stops. */
const LONG_ANSWER = 30_000

const bytesOf = (value: unknown): number =>
  new TextEncoder().encode(JSON.stringify(value ?? '')).length

/** A provider that bills with code of its own: in micro-dollars, each answer as long as it may be. */
function provider() {
  const billed: number[] = []
  const bodies: Body[] = []
  async function ask(text: string): Promise<Response> {
    const body = JSON.parse(text) as Body
    bodies.push(body)
    const { max_tokens: a, max_completion_tokens: b, max_output_tokens: c, n = 1 } = body
    const output = Number(a ?? b ?? c ?? LONG_ANSWER) * Number(n)
    const said = bytesOf(body['messages']) + bytesOf(body['input']) + bytesOf(body['system'])
    const input = Math.ceil(said / 4)
    const stored = [body['previous_response_id'], body['conversation']].filter(Boolean).length
    const tokens = input + 300_000 * stored
    const factor = body['service_tier'] === 'priority' || body['speed'] === 'fast' ? 6 : 1
    billed.push((tokens + 10 * output) * factor)
    const usage = { prompt_tokens: tokens, completion_tokens: output }
    if (body['stream'] !== true) return Response.json({ choices: [], usage })
    const isAsked = (body['stream_options'] as Body | undefined)?.['include_usage'] === true
    const events = [
      { choices: [{ delta: { content: 'Because.' } }] },
      ...(isAsked ? [{ choices: [], usage }] : []),
    ]
    const text2 = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    return new Response(`${text2}data: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    })
  }
  return { ask, billed, bodies }
}

/** A route behind an adapter, as the page on model calls shows it, with a budget in dollars. */
function route(options: Partial<PrepareOptions> = {}) {
  const limiter = limiterOf()
  const { ask, billed, bodies } = provider()
  const kept: Promise<unknown>[] = []
  const prepare = prepareModelCalls({ api: 'openai-chat', prices: PRICES, ...options })
  const cost = reserving(async (request: Request) => {
    const { token, usd } = (await prepare(request)).cost
    return { token, usd }
  })
  const waitUntil = (promise: Promise<unknown>): void => void kept.push(promise)
  const fetch = rateLimit(
    () => limiter,
    { routes: ['/chat'], subject, cost },
    async (request: Request) => {
      const call = await prepare(request)
      if (call.refusal) return call.refusal
      return meter(await ask(call.body), {
        model: call.model,
        inputTokens: call.inputTokens,
        settle: (usage) => {
          const { token, usd } = call.unitsOf(usage)
          return reservationOf(request).settle({ token, usd })
        },
        waitUntil,
      })
    },
  )
  async function send(body: unknown) {
    const request = new Request('https://app.example/chat', {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const answer = await fetch(request, {}, { waitUntil, passThroughOnException: () => undefined })
    const text = await answer.text()
    await Promise.all(kept)
    return { status: answer.status, text, charged: await used(limiter, 'budget.daily') }
  }
  return { send, billed, bodies, limiter }
}

const messages = [{ role: 'user', content: 'Why is the sky blue?' }]
const chat = { model: 'gpt-4o', messages }
const claude = { model: 'claude-opus-4-5', messages }

const SENT: [string, ModelApi, Body][] = [
  ['no maximum', 'openai-chat', chat],
  ['a maximum by its older name', 'openai-chat', { ...chat, max_tokens: 50 }],
  ['a maximum that is too high', 'openai-chat', { ...chat, max_tokens: 100_000 }],
  ['several answers', 'openai-chat', { ...chat, n: 4 }],
  ['a stream that does not ask for its usage', 'openai-chat', { ...chat, stream: true }],
  ['a response', 'openai-responses', { model: 'gpt-4o', input: 'Why?' }],
  ['a message', 'anthropic-messages', { ...claude, max_tokens: 9_000 }],
  [
    'a message with thinking',
    'anthropic-messages',
    { ...claude, max_tokens: 20_000, thinking: { type: 'enabled', budget_tokens: 5_000 } },
  ],
]

const REFUSED: [string, ModelApi, unknown, string][] = [
  ['a dear tier', 'openai-chat', { ...chat, service_tier: 'priority' }, 'service_tier'],
  ['a fast model', 'anthropic-messages', { ...claude, max_tokens: 9, speed: 'fast' }, 'speed'],
  [
    'an earlier response',
    'openai-responses',
    { model: 'gpt-4o', input: 'And?', previous_response_id: 'r' },
    'previous_response_id',
  ],
  ['a body of another format', 'openai-chat', { model: 'gpt-4o', input: 'Why?' }, 'messages'],
  ['a body that is no JSON', 'openai-chat', '{', 'body'],
  ['a model without a price', 'openai-chat', { ...chat, model: 'unknown' }, 'sluice prices set'],
]

describe('a model call behind an adapter', () => {
  it.each(SENT)('with %s is charged at least what it costs', async (_, api, body) => {
    const { send, billed } = route({ api })
    const { status, charged } = await send(body)
    expect(status).toBe(200)
    expect(billed).toHaveLength(1)
    expect(charged / (billed[0] ?? 0)).toBeGreaterThanOrEqual(1)
    // The provider told its usage.
    expect(charged / (billed[0] ?? 0)).toBeLessThan(1.001)
  })

  it.each(REFUSED)('with %s costs a request, and is not sent', async (_, api, body, word) => {
    const { send, bodies, limiter } = route({ api })
    const { status, text, charged } = await send(body)
    expect(status).toBe(400)
    expect(text).toContain(word)
    expect(bodies).toEqual([])
    expect(charged).toBe(0)
    expect(await used(limiter, 'rpm')).toBe(1)
  })

  it('keeps the estimate if its usage is not told', async () => {
    const body = { ...chat, max_tokens: 100 }
    const prepare = prepareModelCalls({ api: 'openai-chat', prices: PRICES, input: boundInput })
    const request = new Request('https://a', { method: 'POST', body: JSON.stringify(body) })
    const call = await prepare(request)
    if (call.refusal) throw new Error('refused')
    const usage = {
      model: 'gpt-4o',
      input: 20,
      output: 5,
      cachedInput: 0,
      cacheWrite: 0,
      longCacheWrite: 0,
      source: 'counted' as const,
    }
    expect(call.unitsOf({ ...usage, complete: false })).toEqual(call.cost)
    expect(call.unitsOf({ ...usage, complete: true })).toEqual({
      token: 25,
      input_token: 20,
      output_token: 5,
      usd: 70,
    })
    // The handler may still read the request, and the call is prepared once.
    expect(await request.json()).toEqual(body)
    expect(await prepare(request)).toBe(call)
  })

  it('is refused with 413 if its body is too long', async () => {
    const { send, bodies } = route({ maxBodyBytes: 20 })
    expect((await send(chat)).status).toBe(413)
    expect(bodies).toEqual([])
  })
})

describe('a mistake in the options of prepareModelCalls is an error that names the option', () => {
  const prepare = loosely((options: never) => prepareModelCalls(options))
  mistakesAreNamed([
    ['no object', () => prepare(5), 'prepareModelCalls'],
    [
      'unknown',
      () => prepare({ api: 'openai-chat', minOutput: 1 }),
      'prepareModelCalls.minOutput',
      'unknown_option',
    ],
    ['no api', () => prepare({}), 'prepareModelCalls.api'],
    ['an api that is none', () => prepare({ api: 'gemini' }), 'prepareModelCalls.api'],
    [
      'a maximum of 0',
      () => prepare({ api: 'openai-chat', maxOutput: 0 }),
      'prepareModelCalls.maxOutput',
    ],
  ])
})
