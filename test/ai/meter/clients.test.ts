import Anthropic, { type APIError as AnthropicError } from '@anthropic-ai/sdk'
import { estimateTokens, meter, type Usage } from '@sluice/ai'
import OpenAI, { type APIError as OpenAIError } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { serve, startProvider, WISHES, type Server } from '../provider.ts'
import { SAID } from '../recordings.ts'

const apiKey = 'no-key-is-needed'
let provider: Awaited<ReturnType<typeof startProvider>>
let proxy: Server
let usages: Usage[] = []

beforeAll(async () => {
  provider = await startProvider()
  proxy = await serve(async (request) => {
    const { pathname } = new URL(request.url)
    const { headers, body, signal } = request
    const init = { method: 'POST', headers, body, signal, duplex: 'half' }
    const answer = await fetch(`${provider.url}${pathname}`, init)
    return meter(answer, { settle: (usage) => void usages.push(usage), inputTokens: 77 })
  })
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})
beforeEach(() => {
  usages = []
})

const clientsOf = (url: string) => ({
  openai: new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 }),
  anthropic: new Anthropic({ apiKey, baseURL: url, maxRetries: 0 }),
})
type Clients = ReturnType<typeof clientsOf>

const model = 'gpt-4o'
const messages = (content: string) => [{ role: 'user' as const, content }]
const stream = true as const
const tools = [
  { type: 'function' as const, function: { name: 'get_weather', parameters: { type: 'object' } } },
]
const anthropicTools = [{ name: 'get_weather', input_schema: { type: 'object' as const } }]

/** Calls of each client, and the input and output tokens that it reports. */
const CALLS: Readonly<
  Record<string, (clients: Clients) => Promise<{ result: unknown; tokens: unknown }>>
> = {
  'openai, chat': async ({ openai }) => {
    const result = await openai.chat.completions.create({ model, messages: messages('Why?') })
    return { result, tokens: [result.usage?.prompt_tokens, result.usage?.completion_tokens] }
  },
  'openai, chat, tools': async ({ openai }) => {
    const request = { model, messages: messages(WISHES.tools), tools }
    const result = await openai.chat.completions.create(request)
    return { result, tokens: [result.usage?.prompt_tokens, result.usage?.completion_tokens] }
  },
  'openai, chat, streamed': async ({ openai }) => {
    const request = { model, messages: messages('Why?'), stream_options: { include_usage: true } }
    const result = []
    let tokens
    for await (const chunk of await openai.chat.completions.create({ ...request, stream })) {
      result.push(chunk)
      tokens = [chunk.usage?.prompt_tokens, chunk.usage?.completion_tokens]
    }
    return { result, tokens }
  },
  'openai, chat, tools, streamed by its helper': async ({ openai }) => {
    const run = openai.chat.completions.stream({
      model,
      messages: messages(WISHES.tools),
      tools,
      stream_options: { include_usage: true },
    })
    const result = await run.finalChatCompletion()
    return { result, tokens: [result.usage?.prompt_tokens, result.usage?.completion_tokens] }
  },
  'openai, responses': async ({ openai }) => {
    const result = await openai.responses.create({ model, input: 'Why?' })
    return { result, tokens: [result.usage?.input_tokens, result.usage?.output_tokens] }
  },
  'openai, responses, streamed': async ({ openai }) => {
    const result = []
    let tokens
    for await (const event of await openai.responses.create({ model, input: 'Why?', stream })) {
      result.push(event)
      if (event.type === 'response.completed') {
        tokens = [event.response.usage?.input_tokens, event.response.usage?.output_tokens]
      }
    }
    return { result, tokens }
  },
  'anthropic, messages': async ({ anthropic }) => {
    const request = { model: 'claude', max_tokens: 9, messages: messages('Why?') }
    const result = await anthropic.messages.create(request)
    return { result, tokens: tokensOf(result.usage) }
  },
  'anthropic, messages, tools': async ({ anthropic }) => {
    const request = { model: 'claude', max_tokens: 9, tools: anthropicTools }
    const result = await anthropic.messages.create({ ...request, messages: messages(WISHES.tools) })
    return { result, tokens: tokensOf(result.usage) }
  },
  'anthropic, messages, streamed by its helper': async ({ anthropic }) => {
    const request = { model: 'claude', max_tokens: 9, messages: messages('Why?') }
    const result = await anthropic.messages.stream(request).finalMessage()
    return { result, tokens: tokensOf(result.usage) }
  },
  'anthropic, messages, tools, streamed': async ({ anthropic }) => {
    const request = { model: 'claude', max_tokens: 9, tools: anthropicTools }
    const run = anthropic.messages.stream({ ...request, messages: messages(WISHES.tools) })
    const result = await run.finalMessage()
    return { result, tokens: tokensOf(result.usage) }
  },
}

/** Anthropic tells its cache beside the input. */
function tokensOf(usage: Anthropic.Usage): number[] {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = usage
  const cached = (cache_creation_input_tokens ?? 0) + (cache_read_input_tokens ?? 0)
  return [input_tokens + cached, usage.output_tokens]
}

describe('behind a meter', () => {
  it.each(Object.entries(CALLS))(
    'a client gets the same answer as without a meter: %s',
    async (_, ask) => {
      const plain = await ask(clientsOf(provider.url))
      const metered = await ask(clientsOf(proxy.url))
      expect(metered).toEqual(plain)
      expect(usages).toMatchObject([{ source: 'provider', complete: true }])
      expect([usages[0]?.input, usages[0]?.output]).toEqual(metered.tokens)
    },
  )

  it('a stream without usage is counted', async () => {
    const { openai } = clientsOf(proxy.url)
    const request = { model, messages: messages('Why?'), stream }
    let text = ''
    for await (const chunk of await openai.chat.completions.create(request)) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(SAID)
    expect(usages).toMatchObject([
      { input: 77, output: estimateTokens(SAID), source: 'counted', complete: false },
    ])
  })

  it('an error reaches the client unchanged, and nothing is charged', async () => {
    const errors = await errorsOf(proxy.url)
    expect(errors).toEqual(await errorsOf(provider.url))
    expect(errors).toMatchObject([{ status: 400 }, { status: 400 }])
    expect(usages).toMatchObject([
      { input: 0, output: 0, complete: true },
      { input: 0, output: 0, complete: true },
    ])
  })

  it('a client that stops reading stops the provider and is charged what it has read', async () => {
    const { openai } = clientsOf(proxy.url)
    const request = { model, messages: messages(WISHES.stall), stream }
    for await (const chunk of await openai.chat.completions.create(request)) {
      if (chunk.choices[0]?.delta.content === ' sky') break
    }
    await provider.gaveUp
    expect(usages).toMatchObject([
      { model: 'gpt-4o-2024-08-06', input: 77, source: 'counted', complete: false },
    ])
    expect(usages[0]?.output).toBeGreaterThanOrEqual(2)
  })
})

/** The errors that clients make of a request that is turned away. */
async function errorsOf(url: string): Promise<unknown[]> {
  const { openai, anthropic } = clientsOf(url)
  const request = { model, max_tokens: 9, messages: messages(WISHES.fail) }
  const errors = [
    await openai.chat.completions.create(request).catch((error: OpenAIError) => error),
    await anthropic.messages.create(request).catch((error: AnthropicError) => error),
  ] as OpenAIError[]
  return errors.map(({ name, status, message }) => ({ name, status, message }))
}
