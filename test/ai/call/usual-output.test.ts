import Anthropic from '@anthropic-ai/sdk'
import { limitedFetch } from '@sluice/ai'
import { reasoningTokens } from '@sluice/ai/formats'
import { withBudget } from '@sluice/ai/with-budget'
import { memory } from '@sluice/core/memory'
import type { Limiter } from '@sluice/core'
import OpenAI from 'openai'
import { describe, expect, it, vi } from 'vitest'
import { PATIENTLY } from '../../support/patience.ts'
import {
  ANSWER,
  CELLS,
  FORMATS,
  handled,
  limiterOf,
  messages,
  PRICES,
  provider,
  QUESTION,
  RATE,
  subject,
  THOUGHTS,
  USUAL,
} from './thinking-provider.ts'

async function leftOf(limiter: Limiter): Promise<number> {
  const { policies } = await limiter.peek(subject, { cost: { usd: 0 } })
  return policies[0]?.remaining ?? Number.NaN
}

describe.each(CELLS)('%s, %s', (_door, _format, call) => {
  it.each([2, 10, 100])('has no empty answer on a budget of %d calls', async (calls) => {
    const daily = calls * RATE * (THOUGHTS + ANSWER)
    const limiter = limiterOf(daily)
    const { answers, fetch } = provider()
    const emptyWithRoom: number[] = []
    for (;;) {
      const before = await leftOf(limiter)
      if (!(await call(limiter, { answers, fetch }))) break
      await vi.waitFor(
        async () =>
          expect(await leftOf(limiter)).toBeLessThanOrEqual(
            before - (answers.at(-1)?.output ?? 0) * RATE,
          ),
        PATIENTLY,
      )
      await vi.waitFor(
        async () =>
          expect(before - (await leftOf(limiter))).toBeLessThan(
            (answers.at(-1)?.output ?? 0) * RATE + 1_000,
          ),
        PATIENTLY,
      )
      if (answers.at(-1)?.text === '' && before >= USUAL * RATE + 1_000) emptyWithRoom.push(before)
    }
    expect(emptyWithRoom).toEqual([])
    expect(await leftOf(limiter)).toBeLessThanOrEqual(calls >= 10 ? daily / 10 : daily)
    // The maximum of the model is never exceeded, and the usual one is met wherever there is room.
    expect(Math.max(...answers.map(({ maximum }) => maximum))).toBeLessThanOrEqual(64_000)
  })
})

it('an answer that its maximum has ended says so, with the reasoning in it', async () => {
  for (const format of ['OpenAI chat', 'OpenAI responses'] as const) {
    const onUsage = vi.fn<(usage: unknown) => void>()
    const limiter = limiterOf(1_000_000)
    const options = { formats: [reasoningTokens], onUsage }
    await handled(format)(limiter, provider(), { ...options, usualOutput: 5_000, maxOutput: 5_000 })
    await vi.waitFor(() => expect(onUsage).toHaveBeenCalledTimes(1), PATIENTLY)
    expect(onUsage.mock.lastCall?.[0]).toMatchObject({
      isCut: true,
      output: 5_000,
      reasoning: 5_000,
    })
    await handled(format)(limiter, provider(), options)
    await vi.waitFor(() => expect(onUsage).toHaveBeenCalledTimes(2), PATIENTLY)
    expect(onUsage.mock.lastCall?.[0]).not.toHaveProperty('isCut')
  }
})

it('of 25 calls at once on $1, none is refused as used up', async () => {
  const outcomes = []
  for (const options of [{}, { maxOutput: 4_096 }]) {
    const limiter = limiterOf(1_000_000)
    const { fetch } = provider()
    const waiting: (() => void)[] = []
    const slow = {
      answers: [],
      fetch: async (...args: Parameters<typeof fetch>) =>
        new Promise<void>((resolve) => void waiting.push(resolve)).then(async () => fetch(...args)),
    }
    const reasons: string[] = []
    const [url, body] = FORMATS['OpenAI chat']
    const limited = limitedFetch(limiter, {
      subject,
      prices: PRICES,
      fetch: slow.fetch,
      onDenied: ({ reason }) => void reasons.push(reason),
      ...options,
    })
    const ask = async () => limited(url, { method: 'POST', body: JSON.stringify(body) })
    const first = Promise.all(Array.from({ length: 25 }, ask))
    await vi.waitFor(() => expect(reasons.length).toBeGreaterThan(0), PATIENTLY)
    for (const reply of waiting) reply()
    const denied = (await first).filter(({ status }) => status === 429)
    expect(new Set(reasons)).toEqual(new Set(['concurrency_exceeded']))
    expect(denied.map(({ headers }) => headers.get('retry-after'))).toEqual(denied.map(() => '1'))
    outcomes.push(denied.length)
  }
  // With a fixed maximum of 4,096 tokens 24 are let in, and each is paid for without a text.
  expect(outcomes).toEqual([19, 1])
})

it('25 short calls at once on $1 are all answered, because the client comes back to what is held', async () => {
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const usage = { prompt_tokens: 10, completion_tokens: 300, total_tokens: 310 }
  const choices = [
    { index: 0, message: { role: 'assistant', content: 'Because.' }, finish_reason: 'stop' },
  ]
  const fetch = async () =>
    Response.json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4o',
      choices,
      usage,
    })
  const client = new OpenAI({ apiKey: 'none', fetch })
  const openai = withBudget(client, { store: memory(), tenant: 1_000_000 })('acme')
  const calls = Array.from({ length: 25 }, async () =>
    openai.chat.completions.create({ model: 'gpt-4o', messages }),
  )
  const answers = await Promise.allSettled(calls)
  expect(answers.filter(({ status }) => status === 'rejected')).toEqual([])
})

it('the clients of a budget have their answers with text', async () => {
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const { answers, fetch } = provider()
  const options = { store: memory(), tenant: 1_000_000, prices: PRICES }
  const openai = withBudget(new OpenAI({ apiKey: 'none', fetch }), options)('acme')
  const anthropic = withBudget(new Anthropic({ apiKey: 'none', fetch }), options)('acme')
  await openai.chat.completions.create({ model: 'gpt-5', messages })
  await openai.responses.create({ model: 'gpt-5', input: QUESTION, reasoning: { effort: 'high' } })
  await anthropic.messages.create({
    model: 'claude-opus-5',
    messages,
    max_tokens: 64_000,
    thinking: { type: 'adaptive' } as never,
  })
  expect(answers.map(({ text }) => text)).toEqual(['Because.', 'Because.', 'Because.'])
})
