/* Programs in the shape of the vendors' examples: their clients, streams, runners of tools, agents and structured outputs. */
import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { HumanMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { HTTPClient, Mistral } from '@mistralai/mistralai'
import type { FetchLike } from '@sluice/ai'
import type { ModelClient } from '@sluice/ai/with-budget'
import Groq from 'groq-sdk'
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { listOf, SCHEMA } from './official-calls.ts'

/** The way to a provider: a `fetch`, and what becomes of a client or of a model of the AI SDK. */
export interface ExampleWay {
  readonly fetch: FetchLike
  readonly over: <Client extends object>(client: Client) => Client
}

/** A program, which returns what it shows. */
export type Example = (way: ExampleWay) => Promise<unknown>

const apiKey = 'no-key-is-needed'
const openai = ({ fetch, over }: ExampleWay) => over(new OpenAI({ apiKey, fetch }))
const anthropic = ({ fetch, over }: ExampleWay) => over(new Anthropic({ apiKey, fetch }))
const groq = ({ fetch, over }: ExampleWay) =>
  over(new Groq({ apiKey, fetch }) as unknown as ModelClient) as unknown as Groq
const mistral = ({ fetch }: ExampleWay) =>
  new Mistral({ apiKey, httpClient: new HTTPClient({ fetcher: fetch }) })
const langchain = ({ fetch }: ExampleWay, more: object = {}) =>
  new ChatOpenAI({ model: 'gpt-4o', apiKey, configuration: { fetch }, ...more })

const max_tokens = 50
const WHY = [{ role: 'user' as const, content: 'Why is the sky blue?' }]
const TOOL = [{ role: 'user' as const, content: 'Call a tool.' }]
const gpt = { model: 'gpt-4o', messages: WHY }
const next = { model: 'gpt-5.4', input: 'Why?' }
const claude = { model: 'claude-opus-4-6', max_tokens, messages: WHY }
const llama = { model: 'llama-3.3-70b-versatile', messages: WHY }
const large = { model: 'mistral-large-latest', messages: WHY }
const weather = { name: 'weather', description: 'Tells the weather.', parameters: SCHEMA }
const chatTools = [{ type: 'function' as const, function: weather }]
const place = z.object({ city: z.string() })
const stream = true as const

const forecast = betaZodTool({
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: place,
  run: () => 'Sunny.',
})

/** Asks for a tool, runs it, and sends all items again. */
async function loopOfItems(way: ExampleWay, more: object) {
  const client = openai(way)
  const tools = [{ type: 'function' as const, strict: true, ...weather }]
  const input: OpenAI.Responses.ResponseInput = [...TOOL]
  const settings = { model: 'gpt-5.4', tools, ...more }
  const first = await client.responses.create({ ...settings, input })
  input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]))
  const calls = first.output.filter((item) => item.type === 'function_call')
  for (const { call_id } of calls) {
    input.push({ type: 'function_call_output', call_id, output: 'Sunny.' })
  }
  return (await client.responses.create({ ...settings, input })).output_text
}

/** The examples of the clients, each by its vendor and what it shows. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  'openai, a chat': async (way) => (await openai(way).chat.completions.create(gpt)).choices,
  'openai, a chat that is streamed': async (way) => {
    const chunks = await listOf(await openai(way).chat.completions.create({ ...gpt, stream }))
    return (chunks as { choices: unknown }[]).map(({ choices }) => choices)
  },
  'openai, a runner of tools': (way) =>
    openai(way)
      .chat.completions.runTools({
        model: 'gpt-4o',
        messages: TOOL,
        tools: [
          {
            type: 'function',
            function: { ...weather, function: () => 'Sunny.', parse: JSON.parse },
          },
        ],
      })
      .finalContent(),
  'openai, a structured chat': async (way) => {
    const response_format = zodResponseFormat(place, 'place')
    const { choices } = await openai(way).chat.completions.parse({ ...gpt, response_format })
    return choices[0]?.message.parsed
  },
  'openai, a chat with a tier of the project': async (way) =>
    (await openai(way).chat.completions.create({ ...gpt, service_tier: 'auto' })).choices,
  'openai, a chat with a prediction': async (way) => {
    const prediction = { type: 'content' as const, content: 'Hello' }
    return (await openai(way).chat.completions.create({ ...gpt, prediction })).choices
  },
  'openai, a response': async (way) => (await openai(way).responses.create(next)).output_text,
  'openai, a response that is streamed': async (way) => {
    const events = await listOf(await openai(way).responses.create({ ...next, stream }))
    return (events as { type: string }[]).map(({ type }) => type)
  },
  'openai, a structured response': async (way) => {
    const text = { format: zodTextFormat(place, 'place') }
    return (await openai(way).responses.parse({ ...next, text })).output_parsed
  },
  'openai, a response that thinks hard': async (way) => {
    const reasoning = { effort: 'high' as const, summary: 'auto' as const }
    return (await openai(way).responses.create({ ...next, reasoning })).output_text
  },
  'openai, tools by all items': (way) => loopOfItems(way, {}),
  'openai, tools without a store': (way) =>
    loopOfItems(way, { store: false, include: ['reasoning.encrypted_content'] }),
  'openai, a conversation by the earlier response': async (way) => {
    const first = await openai(way).responses.create(next)
    const more = { ...next, previous_response_id: first.id }
    return (await openai(way).responses.create(more)).output_text
  },
  'openai, a patch': async (way) =>
    (await openai(way).responses.create({ ...next, tools: [{ type: 'apply_patch' }] })).output_text,
  'openai, a search': async (way) =>
    (await openai(way).responses.create({ ...next, tools: [{ type: 'web_search' }] })).output_text,
  'openai, in the background': async (way) =>
    (await openai(way).responses.create({ ...next, background: true })).output_text,
  'openai, a compaction': async (way) => {
    const context_management = [{ type: 'compaction', compact_threshold: 1_000 }]
    return (await openai(way).responses.create({ ...next, context_management })).output_text
  },
  'openai, embeddings': async (way) => {
    const call = {
      model: 'text-embedding-3-small',
      input: 'Why?',
      encoding_format: 'float' as const,
    }
    return (await openai(way).embeddings.create(call)).data
  },
  'anthropic, a message': async (way) => (await anthropic(way).messages.create(claude)).content,
  'anthropic, by the stream helper': async (way) =>
    (await anthropic(way).messages.stream(claude).finalMessage()).content,
  'anthropic, events': async (way) => {
    const events = await listOf(await anthropic(way).messages.create({ ...claude, stream }))
    return (events as { type: string }[]).map(({ type }) => type)
  },
  'anthropic, a structured message': async (way) => {
    const output_config = { format: zodOutputFormat(place) }
    return (await anthropic(way).messages.parse({ ...claude, output_config })).parsed_output
  },
  'anthropic, the tool runner': async (way) => {
    const call = { ...claude, messages: TOOL, tools: [forecast] }
    return (await anthropic(way).beta.messages.toolRunner(call)).content
  },
  'anthropic, the tool runner, streamed': async (way) => {
    const call = { ...claude, messages: TOOL, tools: [forecast], stream }
    const texts: unknown[] = []
    for await (const turn of anthropic(way).beta.messages.toolRunner(call)) {
      texts.push((await turn.finalMessage()).content)
    }
    return texts
  },
  'anthropic, thinking that adapts': async (way) => {
    const more = {
      thinking: { type: 'adaptive' as const },
      output_config: { effort: 'high' as const },
    }
    return (await anthropic(way).messages.create({ ...claude, ...more })).content
  },
  'anthropic, a cache': async (way) => {
    const cache_control = { type: 'ephemeral' as const }
    return (await anthropic(way).messages.create({ ...claude, cache_control })).content
  },
  'anthropic, a context that is cleared': async (way) => {
    const context_management = { edits: [{ type: 'clear_tool_uses_20250919' as const }] }
    const call = { ...claude, context_management, betas: ['context-management-2025-06-27'] }
    return (await anthropic(way).beta.messages.create(call)).content
  },
  'anthropic, a search': async (way) => {
    const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }]
    return (await anthropic(way).messages.create({ ...claude, tools })).content
  },
  'groq, a chat': async (way) => (await groq(way).chat.completions.create(llama)).choices,
  'groq, a chat that is streamed': async (way) =>
    (
      (await listOf(await groq(way).chat.completions.create({ ...llama, stream }))) as {
        choices: unknown
      }[]
    ).map(({ choices }) => choices),
  'groq, a tier and reasoning': async (way) => {
    const more = { service_tier: 'on_demand' as const, reasoning_format: 'parsed' as const }
    return (await groq(way).chat.completions.create({ ...llama, ...more })).choices
  },
  'groq, tools': async (way) =>
    (await groq(way).chat.completions.create({ ...llama, messages: TOOL, tools: chatTools }))
      .choices,
  'mistral, a chat': async (way) => (await mistral(way).chat.complete(large)).choices,
  'mistral, a chat that is streamed': async (way) =>
    ((await listOf(await mistral(way).chat.stream(large))) as { data: { choices: unknown } }[]).map(
      ({ data }) => data.choices,
    ),
  'mistral, a safe prompt and a seed': async (way) =>
    (await mistral(way).chat.complete({ ...large, safePrompt: true, randomSeed: 7 })).choices,
  'mistral, tools': async (way) =>
    (await mistral(way).chat.complete({ ...large, messages: TOOL, tools: chatTools })).choices,
  'langchain, a chat': async (way) => (await langchain(way).invoke('Why?')).content,
  'langchain, a chat that is streamed': async (way) =>
    ((await listOf(await langchain(way).stream('Why?'))) as { content: unknown }[]).map(
      ({ content }) => content,
    ),
  'langchain, a structured chat': (way) =>
    langchain(way).withStructuredOutput(place).invoke('Why?'),
  'langchain, tools': async (way) => {
    const model = langchain(way).bindTools(chatTools)
    const question = new HumanMessage('Call a tool.')
    const first = await model.invoke([question])
    const results = (first.tool_calls ?? []).map(
      ({ id }) => new ToolMessage({ content: 'Sunny.', tool_call_id: id ?? '' }),
    )
    return (await model.invoke([question, first, ...results])).content
  },
  'langchain, responses': async (way) =>
    (await langchain(way, { useResponsesApi: true }).invoke('Why?')).content,
}
