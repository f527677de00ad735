/* A run that has fallen to another model stays with it. */
import { limitedFetch, limitedModel, modelHandler, type CallOptions } from '@sluice/ai'
import { fallback, type FallbackModels } from '@sluice/ai/fallback'
import { createLimiter, manualClock, slidingWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'
import { answered, PRICES, QUESTION, sdkModel, type Sent } from './ladder.ts'

interface Run {
  readonly tenant: string
  readonly run: string
}

type Call = (limiter: Limiter, run: Run, fallbackModels: FallbackModels, sent: string[]) => unknown

const OPTIONS: CallOptions = { prices: PRICES, maxOutput: 1_000 }
const body = JSON.stringify(QUESTION)
const sendTo =
  (sent: string[]) =>
  async (one: Sent): Promise<Response> => {
    sent.push(one.model)
    return answered(one)
  }
const sentBy = (text: unknown): Sent => {
  const { model } = JSON.parse(String(text)) as { model: string }
  return { model, most: 0 }
}

const DOORS: Readonly<Record<string, Call>> = {
  limitedFetch: (limiter, subject, fallbackModels, sent) =>
    limitedFetch(limiter, {
      ...OPTIONS,
      subject,
      fallbackModels,
      fetch: (_, init) => sendTo(sent)(sentBy(init?.body)),
    })('https://provider.example/v1/chat/completions', { method: 'POST', body }),
  modelHandler: (limiter, subject, fallbackModels, sent) =>
    modelHandler(
      limiter,
      { ...OPTIONS, subject: () => subject, fallbackModels, api: 'openai-chat' },
      (call) => sendTo(sent)(sentBy(call.body)),
    )(new Request('https://app.example/', { method: 'POST', body })),
  limitedModel: (limiter, subject, fallbackModels, sent) =>
    limitedModel(sdkModel('large', sendTo(sent)), limiter, {
      ...OPTIONS,
      subject,
      fallbackModels,
    }).doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }] }),
}

const listOf = (door: string, sent: string[]) =>
  ['middle', 'small'].map((name) => (door === 'limitedModel' ? sdkModel(name, sendTo(sent)) : name))

describe.each(Object.entries(DOORS))('by %s, a run', (door, call) => {
  const setUp = (options?: { readonly sticky: string }) => {
    const clock = manualClock(NOON)
    const limiter = createLimiter({
      store: memory(),
      clock,
      policies: [slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant', 'model'] })],
    })
    const sent: string[] = []
    const fallbackModels = fallback(listOf(door, sent), options)
    const ask = async (run: string, tenant = 'acme'): Promise<void> => {
      await call(limiter, { tenant, run }, fallbackModels, sent)
    }
    return { clock, sent, ask }
  }

  it('stays with the model that has answered, while it has room, and others do not', async () => {
    const { clock, sent, ask } = setUp({ sticky: 'run' })
    for (const run of ['a', 'b', 'c']) await ask(run)
    clock.advance(61_000)
    for (const run of ['c', 'a', 'c', 'c', 'c']) await ask(run)
    expect(sent).toEqual([
      'large',
      'large',
      'middle',
      // After the minute.
      'middle',
      'large',
      'middle',
      'small',
      'small',
    ])
    await ask('c')
    expect(sent.at(-1)).toBe('large')
    clock.advance(61_000)
    await ask('c', 'other')
    expect(sent.at(-1)).toBe('large')
  })

  it('goes back to the requested model without it', async () => {
    const { clock, sent, ask } = setUp()
    for (const run of ['a', 'b', 'c']) await ask(run)
    clock.advance(61_000)
    await ask('c')
    expect(sent).toEqual(['large', 'large', 'middle', 'large'])
  })
})
