import { boundInput, limitedFetch, limitedModel, usd } from '@sluice/ai'
import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { handlerOf, limiterWith, post, PRICES, QUESTION, sentTo, used } from '../doors.ts'
import { MODEL_ANSWER } from '../recordings.ts'
import { answerOf, fitting, maximumOf } from './fitting.ts'

describe('a call that is fitted to its budget', () => {
  it('is sent with as many output tokens as there is money for, and never costs more', async () => {
    // A token of output is ten micro-dollars: there is money for some 500 of them.
    const limiter = limiterWith(5_050)
    const { calls, handle } = fitting(limiter)
    const answer = await handle(post(QUESTION))
    expect(answer.status).toBe(200)
    await answer.text()
    const maximum = maximumOf(calls[0]?.body ?? '')
    expect(maximum).toBeGreaterThan(450)
    expect(maximum).toBeLessThan(505)
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBe(20 + 10 * maximum)
    const denied = await handle(post(QUESTION))
    expect(denied.status).toBe(429)
    expect(calls).toHaveLength(1)
  })

  it('is sent in full while there is room, and a lower maximum of the client counts', async () => {
    const { calls, handle } = fitting(limiterWith(usd(1)))
    await handle(post(QUESTION))
    await handle(post({ ...QUESTION, max_tokens: 30 }))
    expect(calls.map(({ body }) => maximumOf(body))).toEqual([1_000, 30])
  })

  it('is denied if the least does not fit, and without minOutput if the most does not', async () => {
    const few = fitting(limiterWith(1_000))
    expect((await few.handle(post(QUESTION))).status).toBe(429)
    const full = fitting(limiterWith(5_050), { minOutput: undefined })
    expect((await full.handle(post(QUESTION))).status).toBe(429)
  })

  it('shares what it is granted among all answers', async () => {
    const { calls, handle } = fitting(limiterWith(5_050))
    await handle(post({ ...QUESTION, n: 3 }))
    const maximum = maximumOf(calls[0]?.body ?? '')
    expect(maximum).toBeGreaterThan(150)
    expect(maximum).toBeLessThan(168)
  })

  it('has room to answer beside what it thinks', async () => {
    const body = {
      model: 'claude-opus-4-5',
      messages: QUESTION.messages,
      max_tokens: 4_000,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
    }
    const send = async (daily: number) => {
      const options = { api: 'anthropic-messages', maxOutput: 4_000 }
      const { calls, handle } = fitting(limiterWith(daily), options, () => answerOf(1))
      return { status: (await handle(post(body))).status, sent: calls }
    }
    const { sent } = await send(20_000)
    expect(Number(sentTo(sent)['max_tokens'])).toBeGreaterThan(1_900)
    // There is room for 900 tokens, but the model may think 1,024.
    expect(await send(9_000)).toMatchObject({ status: 429, sent: [] })
  })

  it('keeps what it was granted if its usage is not told', async () => {
    const limiter = limiterWith(5_050)
    const { calls, handle } = fitting(limiter, {}, () => Response.json({ choices: [] }))
    await (await handle(post(QUESTION))).text()
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    const granted = maximumOf(calls[0]?.body ?? '')
    expect(await used(limiter, 'budget.daily')).toBeGreaterThanOrEqual(10 * granted)
    expect(await used(limiter, 'budget.daily')).toBeLessThanOrEqual(5_050)
  })

  it('is refused if it asks for more answers than any provider gives', async () => {
    const { calls, handle } = fitting(limiterWith(usd(1)))
    const answer = await handle(post({ ...QUESTION, n: 10 ** 9 }))
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('from 1 to 128')
    expect(calls).toHaveLength(0)
  })

  it('is denied if it asks for more tokens than can be counted', async () => {
    const options = { api: 'openai-completions', maxOutput: 65_536 }
    const { calls, handle } = fitting(limiterWith(usd(1)), options)
    const prompt = Array.from({ length: 140_000 }, () => '')
    expect((await handle(post({ model: 'gpt-4o', prompt, n: 128 }))).status).toBe(429)
    expect(calls).toHaveLength(0)
  })

  it('goes through limitedFetch and limitedModel alike', async () => {
    const bodies: string[] = []
    const limited = limitedFetch(limiterWith(5_050), {
      subject: { tenant: 'acme' },
      prices: PRICES,
      minOutput: 100,
      fetch: async (_, init) => {
        bodies.push(init?.body as string)
        return answerOf(1)
      },
    })
    await limited('https://api.example/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify(QUESTION),
    })
    expect(maximumOf(bodies[0] ?? '')).toBeGreaterThan(450)

    const inner = new MockLanguageModelV4({
      modelId: 'claude-opus-4-5',
      doGenerate: async () => MODEL_ANSWER as never,
    })
    const options = { subject: { tenant: 'acme' }, prices: PRICES, minOutput: 100 }
    const model = limitedModel(inner, limiterWith(15_000), options)
    const thinking = { type: 'enabled', budgetTokens: 1_024 } as const
    await ai.generateText({ model, prompt: 'Why?', providerOptions: { anthropic: { thinking } } })
    // The provider adds what the model may think: both together fit into some 1,490.
    const sent = inner.doGenerateCalls[0]?.maxOutputTokens ?? 0
    expect(sent).toBeGreaterThan(420)
    expect(sent + 1_024).toBeLessThan(1_500)
  })
})

describe('an input that is bounded', () => {
  it('is reserved at its bytes, which no text has more tokens than', async () => {
    let held = 0
    const { handle, limiter } = handlerOf(
      async () => {
        held = await used(limiter, 'tpm')
        return answerOf(10)
      },
      { input: boundInput, maxOutput: 100 },
    )
    const content = '𓂀'.repeat(500)
    await handle(post({ ...QUESTION, messages: [{ role: 'user', content }] }))
    expect(held).toBeGreaterThanOrEqual(2_000 + 100)
    expect(held).toBeLessThan(2_500)
  })

  it.each([
    [
      'an image',
      [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a' } }] }],
    ],
    ['a file', [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }]],
    ['a sound', [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }]],
  ])('refuses %s', async (_, messages) => {
    const { handle, calls } = handlerOf(() => answerOf(1), { input: boundInput })
    const answer = await handle(post({ ...QUESTION, messages }))
    expect(answer.status).toBe(400)
    expect(await answer.text()).toMatch(/no bound|only the provider has|is sound/)
    expect(calls).toEqual([])
  })

  it.each([
    ['an earlier response', { input: 'And?', previous_response_id: 'resp_1' }],
    ['stored reasoning', { input: [{ type: 'reasoning', id: 'rs_1', summary: [] }] }],
    ['a picture that was made before', { input: [{ type: 'image_generation_call', id: 'ig_1' }] }],
  ])('refuses %s, which only the provider sees', async (_, fields) => {
    const { handle } = handlerOf(() => answerOf(1), { input: boundInput, api: 'openai-responses' })
    expect((await handle(post({ model: 'gpt-4o', ...fields }))).status).toBe(400)
  })

  it('takes the items of a conversation that say all themselves', async () => {
    const { handle } = handlerOf(() => answerOf(1), { input: boundInput, api: 'openai-responses' })
    const input = [
      { role: 'user', content: 'Why?' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
      { type: 'function_call', id: 'fc_1', call_id: 'c_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c_1', output: 'nothing' },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [] },
    ]
    expect((await handle(post({ model: 'gpt-4o', input }))).status).toBe(200)
  })

  it('has room for the tools that Anthropic has defined', async () => {
    let held = 0
    const { handle, limiter } = handlerOf(
      async () => {
        held = await used(limiter, 'tpm')
        return answerOf(10)
      },
      { input: boundInput, maxOutput: 100, api: 'anthropic-messages' },
    )
    const tools = [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      { type: 'computer_20250124', name: 'computer', display_width_px: 1, display_height_px: 1 },
    ]
    await handle(post({ ...QUESTION, model: 'claude-opus-4-5', tools }))
    expect(held).toBeGreaterThan(346 + 245 + 700 + 735 + 499 + 100)
  })
})
