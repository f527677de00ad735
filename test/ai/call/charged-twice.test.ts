import { createOpenAI } from '@ai-sdk/openai'
import {
  limitedFetch,
  limitedModel,
  modelHandler,
  type AiSdkModel,
  type FetchLike,
} from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { limiterOf, post, PRICES, QUESTION, subject, used } from '../doors.ts'
import * as recorded from '../recordings.ts'

const url = 'https://provider.example/v1/chat/completions'
const options = { subject, prices: PRICES }
const init = { method: 'POST', body: JSON.stringify(QUESTION) }
const CALL = { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Why?' }] }] }

/** A limited fetch, and what it sends. */
function inner(limiter: Limiter = limiterOf()) {
  const send = vi.fn<FetchLike>(async () => Response.json(recorded.CHAT_JSON))
  return { limiter, send, limited: limitedFetch(limiter, { ...options, fetch: send }) }
}

/** Each way to limit a call that a limited fetch sends. */
const OUTER: Readonly<Record<string, (limiter: Limiter, limited: FetchLike) => Promise<unknown>>> =
  {
    limitedFetch: async (limiter, limited) =>
      (await limitedFetch(limiter, { ...options, fetch: limited })(url, init)).text(),
    'limitedFetch with a function between': async (limiter, limited) => {
      const fetch: FetchLike = (input, given) => limited(input, { ...given, redirect: 'error' })
      return (await limitedFetch(limiter, { ...options, fetch })(url, init)).text()
    },
    'limitedFetch with a request': async (limiter, limited) => {
      const outer = limitedFetch(limiter, { ...options, fetch: limited })
      return (await outer(new Request(url, init))).text()
    },
    'modelHandler with a function': async (limiter, limited) => {
      const handle = modelHandler(limiter, { ...options, api: 'openai-chat' }, ({ body, signal }) =>
        limited(url, { method: 'POST', body, signal }),
      )
      return (await handle(post(QUESTION))).text()
    },
    'modelHandler with an address, where the global fetch is limited': async (limiter, limited) => {
      const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(limited)
      onTestFinished(() => fetched.mockRestore())
      const handle = modelHandler(limiter, options, { url, key: 'k' })
      return (await handle(post(QUESTION))).text()
    },
    ...Object.fromEntries(
      Object.entries({ 5: createOpenAI5, 6: createOpenAI6, 7: createOpenAI }).flatMap(
        ([version, create]) =>
          (['doGenerate', 'doStream'] as const).map((method) => [
            `limitedModel of AI SDK ${version}, ${method}`,
            (limiter: Limiter, limited: FetchLike) => {
              const model = create({ apiKey: 'k', fetch: limited }).chat('gpt-4o') as AiSdkModel
              const outer = limitedModel(model, limiter, { ...options, maxOutput: 100 })
              return outer[method](CALL).then(undefined, (error: Error) => error.message)
            },
          ]),
      ),
    ),
  }

describe('a call that its limiter has charged already is refused by a limited fetch within', () => {
  it.each(Object.entries(OUTER))('%s', async (_, call) => {
    const { limiter, send, limited } = inner()
    expect(await call(limiter, limited)).toContain('its limiter has charged it already')
    expect(send).not.toHaveBeenCalled()
    expect(await used(limiter, 'rpm')).toBe(1)
  })
})

describe('a call that another limiter has charged is charged by both:', () => {
  it.each(Object.entries(OUTER).filter(([name]) => !name.endsWith('doStream')))(
    '%s',
    async (_, call) => {
      const outer = limiterOf()
      const { limiter, send, limited } = inner()
      await call(outer, limited)
      expect(send).toHaveBeenCalledOnce()
      expect([await used(outer, 'rpm'), await used(limiter, 'rpm')]).toEqual([1, 1])
    },
  )
})

it('a limited fetch that is the global one refuses its own call instead of charging it for ever', async () => {
  const limiter = limiterOf()
  const limited = limitedFetch(limiter, options)
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(limited)
  onTestFinished(() => fetched.mockRestore())
  expect((await limited(url, init)).status).toBe(400)
  expect(await used(limiter, 'rpm')).toBe(1)
})

it('calls that share a signal are charged each, and aborted with it', async () => {
  const { limiter, send, limited } = inner()
  const controller = new AbortController()
  for (let time = 0; time < 3; time += 1) {
    await (await limited(url, { ...init, signal: controller.signal })).text()
  }
  expect(await used(limiter, 'rpm')).toBe(3)
  controller.abort(new Error('no more'))
  const signals = send.mock.calls.map(([, sent]) => sent?.signal?.reason as Error)
  expect(signals.map(({ message }) => message)).toEqual(['no more', 'no more', 'no more'])
})
