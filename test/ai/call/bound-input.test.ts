import { boundInput, limitedFetch, modelHandler, type ModelApi } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { limiterOf, PRICES, subject, used } from '../doors.ts'

type Body = Readonly<Record<string, unknown>>

const messages = [{ role: 'user', content: 'Why?' }]
const parameters = {
  type: 'object',
  properties: { a: { type: 'array', items: { enum: [[[[['x']]]], [[[[[1]]]]]] } } },
}
const tools = [{ type: 'function', function: { name: 'f', parameters } }]
const schema = { type: 'json_schema', json_schema: { name: 'f', schema: parameters } }

const bytesOf = (text: string): number => new TextEncoder().encode(text).length
const textOf = ({ messages: all, input }: Body): string =>
  typeof input === 'string' ? input : (all as typeof messages).map((one) => one.content).join('')

/**
 * Hosts that write a prompt of their own for tools or formats, in a tokenizer that knows no text: a token is a
 * byte. Each returns the tokens that it bills.
 */
const HOSTS: Readonly<Record<string, [ModelApi, Body, (body: Body) => number]>> = {
  'a host that writes tools indented, after an introduction': [
    'openai-chat',
    { model: 'deepseek-chat', messages, tools },
    (body) => 1_500 + bytesOf(textOf(body)) + bytesOf(JSON.stringify(body['tools'], null, 4)),
  ],
  'a host that does so for functions': [
    'openai-chat',
    { model: 'deepseek-chat', messages, functions: [tools[0]?.function] },
    (body) => 1_500 + bytesOf(textOf(body)) + bytesOf(JSON.stringify(body['functions'], null, 4)),
  ],
  'a Claude model whose host makes a tool of a format': [
    'openai-chat',
    { model: 'claude-opus-4-5', messages, response_format: schema },
    (body) => 804 + bytesOf(textOf(body)) + bytesOf(JSON.stringify(body['response_format'])),
  ],
  'a Claude model with a format': [
    'anthropic-messages',
    { model: 'claude-opus-4-5', messages, output_config: { format: schema } },
    (body) => 804 + bytesOf(textOf(body)) + bytesOf(JSON.stringify(body['output_config'])),
  ],
  'a Claude model by a name of its host': [
    'openai-chat',
    { model: 'gpt-4o', messages, tools },
    (body) => 804 + bytesOf(textOf(body)) + bytesOf(JSON.stringify(body['tools'])),
  ],
  'a response with a format': [
    'openai-responses',
    { model: 'gpt-4o', input: 'Why?', text: { format: schema } },
    (body) => 804 + bytesOf(textOf(body)) + bytesOf(JSON.stringify(body['text'])),
  ],
}

const PATHS: Readonly<Record<string, string>> = {
  'anthropic-messages': '/v1/messages',
  'openai-responses': '/v1/responses',
  'openai-chat': '/v1/chat/completions',
}

type Send = (api: ModelApi, body: Body) => Promise<{ status: number; text: string; held: number }>

const terms = { prices: PRICES, maxOutput: 1, input: boundInput }

/** Sends a body through a door, and returns the input that was held meanwhile. */
const DOORS: Readonly<Record<string, Send>> = {
  async modelHandler(api, body) {
    const limiter = limiterOf()
    let held = 0
    const handle = modelHandler(limiter, { subject, api, ...terms }, async () => {
      held = (await used(limiter, 'tpm')) - 1
      return Response.json({})
    })
    const init = { method: 'POST', body: JSON.stringify(body) }
    const answer = await handle(new Request('https://app.example/', init))
    return { status: answer.status, text: await answer.text(), held }
  },
  async limitedFetch(api, body) {
    const limiter = limiterOf()
    let held = 0
    const fetch = async () => {
      held = (await used(limiter, 'tpm')) - 1
      return Response.json({})
    }
    const limited = limitedFetch(limiter, { subject: subject(), fetch, ...terms })
    const init = { method: 'POST', body: JSON.stringify(body) }
    const answer = await limited(`https://api.example${PATHS[api]}`, init)
    return { status: answer.status, text: await answer.text(), held }
  },
}

describe.each(Object.entries(DOORS))('boundInput by %s', (_, send) => {
  it.each(Object.entries(HOSTS))('is not exceeded by %s', async (__, [api, body, billed]) => {
    const { status, held } = await send(api, body)
    expect(status).toBe(200)
    expect(billed(body) / held).toBeLessThanOrEqual(1)
  })

  it('adds nothing for a plain text', async () => {
    const { held } = await send('openai-chat', { model: 'gpt-4o', messages, tools: [] })
    expect(held).toBeLessThan(350)
  })

  it.each([{ image_url: { url: 'https://a' } }, { type: 'text', text: 'x', image_url: 'u' }])(
    'refuses the picture %j',
    async (part) => {
      const body = { model: 'gpt-4o', messages: [{ role: 'user', content: [part] }] }
      const { status, text } = await send('openai-chat', body)
      expect(status).toBe(400)
      expect(text).toContain('no bound')
    },
  )
})

describe.each(Object.entries(DOORS))('%s', (_, send) => {
  it.each([{ mode: 'pro' }, { mode: 'new' }, { effort: 'low', mode: 'pro' }, { runs: 4 }])(
    'refuses the reasoning %j, which runs a model several times or is unknown',
    async (reasoning) => {
      const body = { model: 'gpt-4o', input: 'Why?', reasoning }
      const { status, text, held } = await send('openai-responses', body)
      expect(status).toBe(400)
      expect(text).toContain('body.reasoning: may cost more than the tokens that are counted')
      expect(held).toBe(0)
    },
  )

  it('sends any other reasoning', async () => {
    const reasoning = { effort: 'low', summary: 'auto', generate_summary: null, context: 'auto' }
    for (const mode of [undefined, null, 'standard']) {
      const body = { model: 'gpt-4o', input: 'Why?', reasoning: { ...reasoning, mode } }
      expect((await send('openai-responses', body)).status).toBe(200)
    }
  })
})
