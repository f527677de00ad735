/* The rules beside those of the AI SDK, whose providers leave out what a model refuses, too. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { AiSdkModel, FetchLike } from '@sluice/ai'
import { ANTHROPIC_PRICES } from '@sluice/ai/prices/anthropic'
import { OPENAI_PRICES } from '@sluice/ai/prices/openai'
import { describe, expect, it } from 'vitest'
import { bodyForModel } from '../../../packages/ai/src/call/other-model.ts'

type Body = Readonly<Record<string, unknown>>

const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]

/** Returns the body that a provider of the SDK sends, and the fields of it that are compared. */
async function sentBySdk(make: (fetch: FetchLike) => AiSdkModel, options: object): Promise<Body> {
  let sent = '{}'
  const model = make((_, init) => {
    sent = init?.body as string
    return Promise.resolve(new Response('{}', { status: 400 }))
  })
  await model.doGenerate({ prompt, maxOutputTokens: 4_000, ...options }).then(
    () => expect.unreachable(),
    () => undefined,
  )
  return JSON.parse(sent) as Body
}

const chosen = (body: Body, fields: readonly string[]): Body =>
  Object.fromEntries(fields.flatMap((name) => (name in body ? [[name, body[name]]] : [])))

/** Models that only the Responses API offers, and others than of texts. */
const NO_CHAT = /codex|pro$|-pro-|research|embedding|computer|search/
const OPENAI = [...OPENAI_PRICES.models().keys()].filter((name) => !NO_CHAT.test(name))

/** Names that the SDK does not know: it takes them for the newest. */
const UNKNOWN = /^claude-(sonnet-(3-7|4)|opus-4)$/
const CLAUDE = [...ANTHROPIC_PRICES.models().keys()].filter((name) => !UNKNOWN.test(name))

const FROM = 'deepseek-flash'

describe('beside the AI SDK', () => {
  it('chat completions lose the same parameters of sampling', async () => {
    const body = { temperature: 0.5, top_p: 0.5, presence_penalty: 1, frequency_penalty: 1 }
    const options = { temperature: 0.5, topP: 0.5, presencePenalty: 1, frequencyPenalty: 1 }
    const providerOptions = { openai: { reasoningEffort: 'medium' } }
    expect(OPENAI.length).toBeGreaterThan(50)
    for (const to of OPENAI) {
      const sdk = await sentBySdk((fetch) => createOpenAI({ apiKey: 'k', fetch }).chat(to), {
        ...options,
        providerOptions,
      })
      const ours = bodyForModel(
        'openai-chat',
        { ...body, reasoning_effort: 'medium' },
        { from: FROM, to },
      )
      const kept = chosen('body' in ours ? ours.body : {}, Object.keys(body))
      expect([to, kept]).toEqual([to, chosen(sdk, Object.keys(body))])
    }
  })

  it.each([
    ['parameters of sampling', { temperature: 0.5, topK: 3 }, { temperature: 0.5, top_k: 3 }, []],
    [
      'thinking that is off',
      { providerOptions: { anthropic: { thinking: { type: 'disabled' } } } },
      { thinking: { type: 'disabled' } },
      // The SDK lets them think, and warns.
      ['claude-fable-5', 'claude-fable-5-1', 'claude-fable-5-2', 'claude-opus-5-5'],
    ],
    [
      'a budget of thinking',
      { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2_000 } } } },
      { thinking: { type: 'enabled', budget_tokens: 2_000 } },
      // Anthropic's page says that Claude 4.7 and later refuse a budget. The SDK sends them one.
      ['claude-opus-4-7', 'claude-opus-4-8', 'claude-opus-5', 'claude-sonnet-5'],
    ],
    [
      'a tool that must be called',
      {
        tools: [{ type: 'function', name: 'f', inputSchema: { type: 'object' } }],
        toolChoice: { type: 'required' },
      },
      { tool_choice: { type: 'any' } },
      // The SDK lets them choose, and warns.
      ['claude-fable-5-1', 'claude-fable-5-2', 'claude-opus-5-5', 'claude-sonnet-5-5'],
    ],
  ])(
    'messages fare alike with %s, but for the models that are listed',
    async (_, options, body, but) => {
      expect(CLAUDE.length).toBeGreaterThan(15)
      const others: string[] = []
      for (const to of CLAUDE) {
        const sdk = await sentBySdk((fetch) => createAnthropic({ apiKey: 'k', fetch })(to), options)
        const ours = bodyForModel('anthropic-messages', body, { from: FROM, to })
        const kept = JSON.stringify('body' in ours ? ours.body : {})
        if ('refused' in ours || kept !== JSON.stringify(chosen(sdk, Object.keys(body))))
          others.push(to)
      }
      expect(others.toSorted()).toEqual(but)
    },
  )
})
