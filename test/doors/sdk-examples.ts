import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import * as ai6 from 'ai6'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { z } from 'zod'
import type { Example, ExampleWay } from './examples.ts'
import { key as apiKey, listOf } from './official-calls.ts'

/* Programs in the shape of the AI SDK's examples, in each of its versions. */

type Fields = Readonly<Record<string, unknown>>
/** The parts of the AI SDK that the examples use; each version has types of its own. */
interface Sdk {
  generateText(options: object): PromiseLike<Fields>
  streamText(options: object): { readonly textStream: AsyncIterable<string> }
  generateObject(options: object): PromiseLike<{ readonly object: unknown }>
  readonly Agent: new (settings: object) => { generate(call: object): PromiseLike<Fields> }
}

const VERSIONS = {
  'ai 5': {
    sdk: { ...ai5, Agent: ai5.Experimental_Agent },
    openai: createOpenAI5,
    anthropic: createAnthropic5,
  },
  'ai 6': {
    sdk: { ...ai6, Agent: ai6.ToolLoopAgent },
    openai: createOpenAI6,
    anthropic: createAnthropic6,
  },
  'ai 7': {
    sdk: { ...ai7, Agent: ai7.ToolLoopAgent },
    openai: createOpenAI,
    anthropic: createAnthropic,
  },
}

const place = z.object({ city: z.string() })
const tools = {
  weather: { description: 'Tells the weather.', inputSchema: place, execute: async () => 'Sunny.' },
}
const steps = ({ steps: taken }: { readonly steps: readonly unknown[] }) => taken.length === 3
const loop = { prompt: 'Call a tool.', tools, stopWhen: steps }

function examplesOf(name: keyof typeof VERSIONS): Record<string, Example> {
  const { openai, anthropic, sdk: own } = VERSIONS[name]
  const sdk = own as unknown as Sdk
  const models: Readonly<Record<string, (way: ExampleWay) => object>> = {
    'openai, chat': ({ fetch, over }) => over(openai({ apiKey, fetch }).chat('gpt-4o') as object),
    'openai, responses': ({ fetch, over }) =>
      over(openai({ apiKey, fetch }).responses('gpt-5.4') as object),
    anthropic: ({ fetch, over }) => over(anthropic({ apiKey, fetch })('claude-opus-4-6') as object),
  }
  const examples: Record<string, Example> = {}
  for (const [kind, model] of Object.entries(models)) {
    const add = (what: string, example: (settings: object) => Promise<unknown>): void => {
      examples[`${name}, ${kind}, ${what}`] = (way) =>
        example({ model: model(way), maxOutputTokens: 50, maxRetries: 0 })
    }
    const generate = async (settings: object) => (await sdk.generateText(settings))['text']
    add('a text', (settings) => generate({ ...settings, prompt: 'Why?' }))
    add('a stream', (settings) =>
      listOf(sdk.streamText({ ...settings, prompt: 'Why?' }).textStream),
    )
    add('an object', async (settings) => {
      const call = { ...settings, schema: place, prompt: 'Where? Call a tool.' }
      return (await sdk.generateObject(call)).object
    })
    add('steps', (settings) => generate({ ...settings, ...loop }))
    const agent = async (settings: object, more: object = {}) => {
      const { generate: ask } = {
        generate: (call: object) => new sdk.Agent(settings).generate(call),
      }
      return (await ask({ prompt: 'Call a tool.', ...more }))['text']
    }
    add('an agent', (settings) => agent({ ...settings, tools, stopWhen: steps }))
    if (kind !== 'openai, responses') continue
    const providerOptions = { openai: { store: false } }
    add('steps without a store', (settings) => generate({ ...settings, ...loop, providerOptions }))
    add('an agent without a store', (settings) =>
      agent({ ...settings, tools, stopWhen: steps, providerOptions }),
    )
  }
  return examples
}

export const SDK_EXAMPLES: Readonly<Record<string, Example>> = {
  ...examplesOf('ai 5'),
  ...examplesOf('ai 6'),
  ...examplesOf('ai 7'),
}
