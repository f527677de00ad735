/* Each error of a client with a budget says what its user can do: `withBudget` has few options. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { definePrices, LIST_PRICES, usd } from '@sluice/ai'
import { withBudget } from '@sluice/ai/with-budget'
import { memory } from '@sluice/core/memory'
import OpenAI from 'openai'
import { expect, it, vi } from 'vitest'

const apiKey = 'no-key-is-needed'
const send = vi.fn<typeof fetch>()
const options = { store: memory(), tenant: usd(5) }
const openai = withBudget(new OpenAI({ apiKey, fetch: send }), options)('acme')
const anthropic = withBudget(new Anthropic({ apiKey, fetch: send }), options)('acme')
const modelOf = (name: string) =>
  withBudget(createOpenAI({ apiKey, fetch: send }).chat(name), options)('acme')
const claude = withBudget(
  createAnthropic({ apiKey, fetch: send })('claude-opus-4-6'),
  options,
)('acme')

const messages = [{ role: 'user', content: 'Why is the sky blue?' }]
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Why?' }] }]
const chat = (body: object) => () =>
  openai.post('/chat/completions', { body: { model: 'gpt-4o', messages, ...body } })
const responses = (body: object) => () =>
  openai.post('/responses', { body: { model: 'gpt-4o', input: 'Why?', ...body } })
const generate =
  (call: object, model = modelOf('gpt-4o')) =>
  () =>
    model.doGenerate({ prompt, ...call })

const ADD_PRICE =
  'has no price, or is not in the option models: add it by `sluice prices set` or definePrices, or set unknownModel'
const web = { type: 'web_search' }
const search = { type: 'provider', id: 'openai.web_search', name: 'web_search', args: {} }

const ERRORS: readonly (readonly [what: string, says: string, call: () => PromiseLike<unknown>])[] =
  [
    ['a model without a price', `model: "gpt-99" ${ADD_PRICE}`, chat({ model: 'gpt-99' })],
    [
      'a request that is no model call',
      'withBudget refuses this POST: it is no model call that has a price, and may cost something. To send it without a charge, use the client that withBudget was given.',
      () => openai.post('/images/generations', { body: {} }),
    ],
    [
      'a request of Anthropic that is no model call',
      'use the client that withBudget was given',
      () => anthropic.post('/v1/messages/batches', { body: {} }),
    ],
    [
      'input that only the provider has',
      `names input that only the provider has, "previous_response_id": send it (items by store: false and include: ['reasoning.encrypted_content']), or set the option unseenTokens`,
      responses({ previous_response_id: 'resp_1' }),
    ],
    [
      'a field that may cost more',
      `body.turbo: may cost more than the tokens that are counted: leave it out, or allow it with allowFields`,
      chat({ turbo: true }),
    ],
    ['a tool that the provider runs', `allow it with allowFields`, responses({ tools: [web] })],
    [
      'a tool among the messages',
      `body.tools: may cost more than the tokens that are counted: leave it out, or allow it with allowFields`,
      responses({ input: [{ type: 'additional_tools', tools: [web] }] }),
    ],
    [
      'no messages',
      'body.messages: must be a list of at least one message',
      chat({ messages: [] }),
    ],
    ['no model', 'body.model: must name a model', chat({ model: '' })],
    ['a malformed maximum', 'must be a whole number from 1', chat({ max_tokens: '5' })],
    ['too many answers', 'body.n: must be a whole number from 1 to 128', chat({ n: 500 })],
    ['a malformed stream', 'body.stream: must be true or false', chat({ stream: 'yes' })],
    [
      'a body that is too large',
      'body: must be at most 4000000 bytes',
      chat({ user: 'x'.repeat(4e6) }),
    ],
    [
      'a model of the AI SDK without a price',
      `"gpt-99" ${ADD_PRICE}`,
      generate({}, modelOf('gpt-99')),
    ],
    [
      'tools of a provider in the AI SDK',
      `withBudget.tools: has tools that the provider runs and bills beside tokens; allow them with allowFields: ["tools"]`,
      generate({ tools: [search] }),
    ],
    [
      'an option of a provider in the AI SDK',
      `withBudget.providerOptions.openai.turbo: may cost more than the tokens that are counted: leave it out, or allow it with allowFields: ["turbo"]`,
      generate({ providerOptions: { openai: { turbo: true } } }),
    ],
    [
      'an option that the AI SDK writes',
      'withBudget.providerOptions.openai.max_tokens: would overwrite',
      generate({ providerOptions: { openai: { max_tokens: 5 } } }),
    ],
    [
      'reasoning of the AI SDK',
      `withBudget.reasoning: has the SDK add a thinking budget of its own to the maximum; set providerOptions.anthropic.thinking or effort instead, or allow it with allowFields: ["reasoning"]`,
      generate({ reasoning: 'high' }, claude as never),
    ],
    [
      'a message that changes the tools',
      `withBudget.toolChanges: has tools that the provider runs`,
      generate({
        prompt: [
          { ...prompt[0], providerOptions: { anthropic: { toolChanges: [{ tool: search }] } } },
        ],
      }),
    ],
    [
      'a file that only the provider has',
      `or set the option unseenTokens`,
      generate({
        prompt: [
          {
            role: 'user',
            content: [
              {
                type: 'file',
                mediaType: 'application/pdf',
                data: new URL('https://files.example/a'),
              },
            ],
          },
        ],
      }),
    ],
  ]

/** Returns the message of what a call throws. */
async function errorOf(call: () => PromiseLike<unknown>): Promise<string> {
  const [result] = await Promise.allSettled([call()])
  return result?.status === 'rejected' ? (result.reason as Error).message : 'no error'
}

it.each(ERRORS)('says of %s what to do', async (_, says, call) => {
  const message = await errorOf(call)
  expect(message).toContain(says)
  // It names no option that withBudget lacks, and no function below it.
  expect(message).not.toMatch(/passThrough|limited[FM]/)
  expect(send).not.toHaveBeenCalled()
})

it('a price that was added as the error says is used', async () => {
  const answer = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }
  const fetch = vi.fn<typeof globalThis.fetch>(async () => Response.json(answer))
  const price = { input: usd(1), output: usd(1) }
  const prices = definePrices({ 'gpt-99': price }, { base: LIST_PRICES })
  const client = withBudget(new OpenAI({ apiKey, fetch }), { ...options, prices })('acme')
  await client.post('/chat/completions', { body: { model: 'gpt-99', messages } })
  expect(fetch).toHaveBeenCalledOnce()
})
