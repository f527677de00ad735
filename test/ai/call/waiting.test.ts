import { limitedFetch, limitedModel, modelHandler, type AiSdkModel } from '@sluice/ai'
import { createOpenAI } from '@ai-sdk/openai'
import { createLimiter, slidingWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { waitFor, waitingLine } from '@sluice/core/waiting'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { NOON } from '../../support/times.ts'
import { post, PRICES, QUESTION, subject } from '../doors.ts'
import * as recorded from '../recordings.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: NOON })
})
afterEach(() => {
  vi.useRealTimers()
})

const url = 'https://provider.example/v1/chat/completions'
const options = { subject, prices: PRICES, maxOutput: 100 }
const CALL = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }] }

type Send = () => Promise<Response>

/** Each door, of one request: `signal` is aborted when its client hangs up. */
const DOORS: Readonly<
  Record<string, (limiter: Limiter, signal: AbortSignal, send: Send) => Promise<unknown>>
> = {
  modelHandler: async (limiter, signal, send) => {
    const handle = modelHandler(limiter, { ...options, api: 'openai-chat' }, send)
    return (await handle(post(QUESTION, { signal }))).text()
  },
  limitedFetch: async (limiter, signal, send) => {
    const limited = limitedFetch(limiter, { ...options, fetch: send })
    const init = { method: 'POST', body: JSON.stringify(QUESTION), signal }
    return (await limited(url, init)).text()
  },
  limitedModel: async (limiter, signal, send) => {
    const model = createOpenAI({ apiKey: 'k', fetch: send }).chat('gpt-4o') as AiSdkModel
    return limitedModel(model, limiter, options).doGenerate({ ...CALL, abortSignal: signal })
  },
}

describe.each(Object.entries(DOORS))('%s with a limiter that waits', (_, door) => {
  async function begin() {
    const policy = slidingWindow({ name: 'rpm', limit: 1, window: '10s', per: ['tenant'] })
    const limiter = createLimiter({ store: memory(), policies: [waitingLine(policy)] })
    await limiter.check(subject())
    const client = new AbortController()
    const send = vi.fn<Send>(async () => Response.json(recorded.CHAT_JSON))
    const patient = waitFor(limiter as Limiter, '20s', { signal: client.signal })
    const answered = door(patient, client.signal, send).catch(() => 'gone')
    await vi.advanceTimersByTimeAsync(9_000)
    expect(send).not.toHaveBeenCalled()
    return { limiter, client, send, answered }
  }

  it('sends a call when it fits', async () => {
    const { send, answered } = await begin()
    await vi.advanceTimersByTimeAsync(1_100)
    await answered
    expect(send).toHaveBeenCalledOnce()
  })

  it('sends nothing once its client is gone, and leaves the line', async () => {
    const { limiter, client, send, answered } = await begin()
    client.abort()
    await vi.advanceTimersByTimeAsync(0)
    await answered
    await vi.advanceTimersByTimeAsync(1_100)
    expect(send).not.toHaveBeenCalled()
    expect((await limiter.check(subject())).allowed).toBe(true)
  })
})
