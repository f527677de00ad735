import Anthropic from '@anthropic-ai/sdk'
import { HumanMessage } from '@langchain/core/messages'
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { HTTPClient, Mistral } from '@mistralai/mistralai'
import type { FetchLike } from '@sluice/ai'
import Groq from 'groq-sdk'
import OpenAI from 'openai'

/* The calls of the official clients, as programs make them. */

/** The way to a provider: its own `fetch`, or one of the doors. */
export interface Way {
  readonly fetch: FetchLike
}

export const key = 'no-key-is-needed'
const max_tokens = 50
const user = (content: string) => ({ role: 'user' as const, content })
const WHY = [user('Why is the sky blue?')]
const TOOL = [user('Call a tool.')]
export const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' as const } } }
const weather = { type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }
const tools = [weather]
const stream = true as const
const stream_options = { include_usage: true }

export async function listOf(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const list: unknown[] = []
  for await (const item of items) list.push(item)
  return list
}

/** The events up to an abort after the first, and the error that the abort makes. */
async function aborted(start: (signal: AbortSignal) => PromiseLike<AsyncIterable<unknown>>) {
  const controller = new AbortController()
  const list: unknown[] = []
  try {
    for await (const item of await start(controller.signal)) {
      list.push(item)
      controller.abort()
    }
    return list
  } catch (error) {
    return [...list, (error as Error).name]
  }
}

const failure = (error: unknown): unknown => {
  const { name, message, status, statusCode } = error as Record<string, unknown>
  return { name, message, status: status ?? statusCode }
}

const openai = ({ fetch }: Way) => new OpenAI({ apiKey: key, fetch })
const anthropic = ({ fetch }: Way) => new Anthropic({ apiKey: key, fetch })
const groq = ({ fetch }: Way) => new Groq({ apiKey: key, fetch })
const BACKOFF = {
  strategy: 'backoff' as const,
  backoff: { initialInterval: 1, maxInterval: 5, exponent: 1, maxElapsedTime: 5_000 },
}
const mistral = ({ fetch }: Way) =>
  new Mistral({
    apiKey: key,
    httpClient: new HTTPClient({ fetcher: fetch }),
    retryConfig: BACKOFF,
  })
const langchain = ({ fetch }: Way, more: object = {}) =>
  new ChatOpenAI({ model: 'gpt-4o', apiKey: key, maxTokens: 50, configuration: { fetch }, ...more })

/** Asks a provider by a way, and returns what a program gets. */
export type Ask = (way: Way) => Promise<unknown>

const gpt = { model: 'gpt-4o', max_tokens, messages: WHY }
const claude = { model: 'claude-opus-4-6', max_tokens, messages: WHY }
/** A field that the types have no more. */
const HOT: object = { temperature: 3 }
const claudeTools = [{ name: 'weather', input_schema: SCHEMA }]
const llama = { model: 'llama-3.3-70b-versatile', max_tokens, messages: WHY }
const large = { model: 'mistral-large-latest', maxTokens: 50, messages: WHY }

/** The calls of the official clients. */
export const OFFICIAL_CALLS: Readonly<Record<string, Ask>> = {
  'openai, chat': (way) => openai(way).chat.completions.create(gpt),
  'openai, chat, three answers': (way) => openai(way).chat.completions.create({ ...gpt, n: 3 }),
  'openai, chat, tools': (way) =>
    openai(way).chat.completions.create({ ...gpt, messages: TOOL, tools }),
  'openai, chat, streamed': async (way) =>
    listOf(await openai(way).chat.completions.create({ ...gpt, stream, stream_options })),
  'openai, chat, streamed, without asking for its usage': async (way) =>
    listOf(await openai(way).chat.completions.create({ ...gpt, stream })),
  'openai, chat, by its stream helper, without asking for its usage': (way) =>
    openai(way)
      .chat.completions.stream({ ...gpt, messages: TOOL, tools })
      .finalChatCompletion(),
  'openai, completions, streamed, without asking for its usage': async (way) =>
    listOf(
      await openai(way).completions.create({ model: 'gpt-4o', prompt: 'Why?', max_tokens, stream }),
    ),
  'langchain, streamed, without asking for its usage': async (way) =>
    listOf(await langchain(way, { streamUsage: false }).stream('Why?')),
  'openai, chat, tools, streamed': async (way) =>
    listOf(
      await openai(way).chat.completions.create({
        ...gpt,
        messages: TOOL,
        tools,
        stream,
        stream_options,
      }),
    ),
  'openai, chat, by its stream helper': (way) =>
    openai(way)
      .chat.completions.stream({ ...gpt, messages: TOOL, tools, stream_options })
      .finalChatCompletion(),
  'openai, chat, by its parser': (way) =>
    openai(way).chat.completions.parse({ ...gpt, response_format: { type: 'text' } }),
  'openai, chat, by its runner of tools': (way) => {
    const run = openai(way).chat.completions.runTools({
      ...gpt,
      messages: TOOL,
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            parameters: SCHEMA,
            function: () => 'Sunny.',
            parse: (text: string) => JSON.parse(text) as object,
            description: 'Tells the weather.',
          },
        },
      ],
    })
    return run.finalContent()
  },
  'openai, chat, with its response': async (way) => {
    const { data, response } = await openai(way).chat.completions.create(gpt).withResponse()
    return { data, status: response.status, type: response.headers.get('content-type') }
  },
  'openai, chat, refused': (way) =>
    openai(way)
      .chat.completions.create({ ...gpt, temperature: 3 })
      .catch(failure),
  'openai, chat, aborted': (way) =>
    aborted((signal) =>
      openai(way).chat.completions.create({ ...gpt, stream, stream_options }, { signal }),
    ),
  'openai, chat, aborted before': (way) =>
    openai(way).chat.completions.create(gpt, { signal: AbortSignal.abort() }).catch(failure),
  'openai, responses': (way) =>
    openai(way).responses.create({ model: 'gpt-5.4', input: 'Why?', max_output_tokens: 50 }),
  'openai, responses, tools': (way) =>
    openai(way).responses.create({
      model: 'gpt-5.4',
      input: 'Call a tool.',
      max_output_tokens: 50,
      tools: [{ type: 'function', name: 'weather', parameters: SCHEMA, strict: null }],
    }),
  'openai, responses, streamed': async (way) =>
    listOf(
      await openai(way).responses.create({
        model: 'gpt-5.4',
        input: 'Why?',
        max_output_tokens: 50,
        stream,
      }),
    ),
  'openai, responses, by its stream helper': (way) =>
    openai(way)
      .responses.stream({ model: 'gpt-5.4', input: 'Why?', max_output_tokens: 50 })
      .finalResponse(),
  'openai, responses, aborted': (way) =>
    aborted((signal) =>
      openai(way).responses.create(
        { model: 'gpt-5.4', input: 'Why?', max_output_tokens: 50, stream },
        { signal },
      ),
    ),
  'openai, completions': (way) =>
    openai(way).completions.create({ model: 'gpt-3.5-turbo-instruct', prompt: 'Why?', max_tokens }),
  'openai, completions, streamed': async (way) =>
    listOf(
      await openai(way).completions.create({
        model: 'gpt-3.5-turbo-instruct',
        prompt: 'Why?',
        max_tokens,
        stream,
        stream_options,
      }),
    ),
  'openai, embeddings': (way) =>
    openai(way).embeddings.create({
      model: 'text-embedding-3-small',
      input: 'Why?',
      encoding_format: 'float',
    }),
  'anthropic, messages': (way) => anthropic(way).messages.create(claude),
  'anthropic, messages, tools': (way) =>
    anthropic(way).messages.create({ ...claude, messages: TOOL, tools: claudeTools }),
  'anthropic, messages, streamed': async (way) =>
    listOf(await anthropic(way).messages.create({ ...claude, stream })),
  'anthropic, messages, tools, by its stream helper': (way) =>
    anthropic(way)
      .messages.stream({ ...claude, messages: TOOL, tools: claudeTools })
      .finalMessage(),
  'anthropic, beta messages': (way) => anthropic(way).beta.messages.create(claude),
  'anthropic, messages that think': (way) =>
    anthropic(way).messages.create({
      ...claude,
      model: 'claude-sonnet-4-5',
      max_tokens: 1_025,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
    }),
  'anthropic, messages, refused': (way) =>
    anthropic(way)
      .messages.create({ ...claude, ...HOT })
      .catch(failure),
  'anthropic, messages, aborted': (way) =>
    aborted((signal) => anthropic(way).messages.create({ ...claude, stream }, { signal })),
  'groq, chat': (way) => groq(way).chat.completions.create(llama),
  'groq, chat, tools': (way) =>
    groq(way).chat.completions.create({ ...llama, messages: TOOL, tools }),
  'groq, chat, aborted': (way) =>
    aborted((signal) => groq(way).chat.completions.create({ ...llama, stream }, { signal })),
  'mistral, chat': (way) => mistral(way).chat.complete(large),
  'mistral, chat, tools': (way) => mistral(way).chat.complete({ ...large, messages: TOOL, tools }),
  'mistral, chat, streamed': async (way) => listOf(await mistral(way).chat.stream(large)),
  'langchain, chat': (way) => langchain(way).invoke([new HumanMessage('Why?')]),
  'langchain, chat, tools': (way) =>
    langchain(way)
      .bindTools([weather])
      .invoke([new HumanMessage('Call a tool.')]),
  'langchain, chat, streamed': async (way) =>
    listOf(await langchain(way).stream([new HumanMessage('Why?')])),
  'langchain, responses': (way) =>
    langchain(way, { useResponsesApi: true }).invoke([new HumanMessage('Why?')]),
  'langchain, embeddings': (way) =>
    new OpenAIEmbeddings({
      model: 'text-embedding-3-small',
      apiKey: key,
      configuration: { fetch: way.fetch },
      encodingFormat: 'float',
    }).embedQuery('Why?'),
}
