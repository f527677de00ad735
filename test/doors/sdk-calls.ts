import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import * as ai6 from 'ai6'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { key, listOf, SCHEMA, type Ask, type Way } from './official-calls.ts'

/* The calls of the AI SDK, in each of its versions. */

/** The part of the AI SDK that all versions share. */
interface Sdk {
  generateText(options: object): PromiseLike<Record<string, unknown>>
  streamText(options: object): { readonly fullStream: AsyncIterable<Record<string, unknown>> }
}

const SDKS = {
  'ai 5': { sdk: ai5, openai: createOpenAI5, anthropic: createAnthropic5 },
  'ai 6': { sdk: ai6, openai: createOpenAI6, anthropic: createAnthropic6 },
  'ai 7': { sdk: ai7, openai: createOpenAI, anthropic: createAnthropic },
} as const

/** The results of the AI SDK that a program gets, without the ids and times that it makes up. */
const shown = ({
  text,
  toolCalls,
  usage,
  totalUsage,
  finishReason,
  type,
  input,
  toolName,
}: Record<string, unknown>) => ({
  text,
  toolCalls,
  usage: usage ?? totalUsage,
  finishReason,
  type,
  input,
  toolName,
})

export function callsOfSdk(name: keyof typeof SDKS): Record<string, Ask> {
  const version = SDKS[name]
  const sdk = version.sdk as unknown as Sdk
  const models: Readonly<Record<string, (way: Way) => unknown>> = {
    'openai, chat': ({ fetch }) => version.openai({ apiKey: key, fetch }).chat('gpt-4o'),
    'openai, responses': ({ fetch }) => version.openai({ apiKey: key, fetch }).responses('gpt-5.4'),
    anthropic: ({ fetch }) => version.anthropic({ apiKey: key, fetch })('claude-opus-4-6'),
  }
  const questions = {
    text: { prompt: 'Why?' },
    tools: { prompt: 'Call a tool.', tools: { weather: { inputSchema: ai7.jsonSchema(SCHEMA) } } },
  }
  const calls: Record<string, Ask> = {}
  for (const [model, create] of Object.entries(models)) {
    for (const [what, question] of Object.entries(questions)) {
      const options = (way: Way) => ({
        ...question,
        model: create(way),
        maxOutputTokens: 50,
        maxRetries: 2,
      })
      calls[`${name}, ${model}, ${what}`] = async (way) =>
        shown(await sdk.generateText(options(way)))
      calls[`${name}, ${model}, ${what}, streamed`] = async (way) =>
        ((await listOf(sdk.streamText(options(way)).fullStream)) as Record<string, unknown>[]).map(
          shown,
        )
    }
  }
  return calls
}
