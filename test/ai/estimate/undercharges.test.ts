import { definePrices, estimateRequest, estimateTokens } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { handlerOf, post, used } from '../doors.ts'

const text = 'Why is the sky blue? '.repeat(400)
const tokens = estimateTokens(text)

/** A message of each format in which a field holds a text. */
const MESSAGES: Readonly<Record<string, (fields: object) => object>> = {
  'a message': (fields) => ({ messages: [{ role: 'user', content: 'x', ...fields }] }),
  'a part of a message': (fields) => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x', ...fields }] }],
  }),
  'an item of the input': (fields) => ({ input: [{ role: 'user', content: 'x', ...fields }] }),
  'a part of the system prompt': (fields) => ({
    messages: [{ role: 'user', content: 'x' }],
    system: [{ type: 'text', text: 'x', ...fields }],
  }),
}
const FIELDS = ['role', 'name']

const cells = Object.keys(MESSAGES).flatMap((place) => FIELDS.map((field) => ({ place, field })))

describe('the estimate of a call', () => {
  it.each(cells)('counts a text in $field of $place', ({ place, field }) => {
    const body = { model: 'gpt-4o', ...MESSAGES[place]?.({ [field]: text }) }
    expect(estimateRequest(body).input).toBeGreaterThanOrEqual(tokens)
  })

  it('does not count roles, ids and signatures', () => {
    const usual = { role: 'user', id: `msg_${'0'.repeat(50)}`, signature: text }
    const input = estimateRequest({ model: 'gpt-4o', input: [{ ...usual, content: 'x' }] }).input
    expect(input).toBeLessThan(20)
  })
})

const PRICES = definePrices({
  'claude-opus-4-5': {
    input: 1_000_000,
    cacheWrite: 1_250_000,
    longCacheWrite: 2_000_000,
    output: 10_000_000,
  },
})
const MODEL = 'claude-opus-4-5'
const content = [{ type: 'text', text, cache_control: { type: 'ephemeral', ttl: '1h' } }]

const BODIES = {
  'openai-chat': { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content }] },
  'openai-responses': { model: MODEL, max_output_tokens: 100, input: [{ role: 'user', content }] },
  'anthropic-messages': { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content }] },
}

describe('a call that may write to a cache for an hour', () => {
  it.each(Object.entries(BODIES))('reserves the price of that: %s', async (api, body) => {
    let held = 0
    const { limiter, handle } = handlerOf(
      async () => {
        held = await used(limiter, 'budget.daily')
        return Response.json({})
      },
      { api, prices: PRICES },
    )
    await handle(post(body))
    expect(held).toBeGreaterThanOrEqual(estimateRequest(body).input * 2 + 100 * 10)
  })
})
