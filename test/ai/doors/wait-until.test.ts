import { limitedFetch, limitedModel, modelHandler, type AiSdkModel } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { NextRequest } from 'next/server.js'
import { describe, expect, it, vi } from 'vitest'
import { limiterOf, post, PRICES, QUESTION, subject, used } from '../doors.ts'
import * as recorded from '../recordings.ts'

const send = async () => Response.json(recorded.CHAT_JSON)
const options = { subject, prices: PRICES }
const chat = { ...options, api: 'openai-chat' } as const

/** A platform's context: its method refuses to be called as anything else's, as workerd's does. */
class Context {
  readonly #kept: Promise<unknown>[] = []
  waitUntil(promise: Promise<unknown>): void {
    this.#kept.push(promise)
  }
  get kept(): readonly Promise<unknown>[] {
    return this.#kept
  }
}
// eslint-disable-next-line typescript/unbound-method -- taken off its context, each call of it throws
const { waitUntil: unbound } = Context.prototype

describe('a model handler, wrapped by nothing,', () => {
  it('is a Worker’s: it settles by ctx.waitUntil, and creates one limiter for all requests', async () => {
    const limiter = limiterOf()
    const make = vi.fn<() => Limiter>(() => limiter)
    const handle = modelHandler<[object, Context]>(make, chat, send)
    for (let time = 0; time < 2; time += 1) {
      const ctx = new Context()
      await (await handle(post(QUESTION), {}, ctx)).text()
      expect(ctx.kept.length).toBeGreaterThan(0)
      await Promise.all(ctx.kept)
    }
    expect(make).toHaveBeenCalledOnce()
    expect(await used(limiter, 'rpm')).toBe(2)
  })

  it('is a route handler of Next.js, whose context has no waitUntil', async () => {
    const POST = modelHandler<[context: { params: Promise<object> }]>(limiterOf(), chat, send)
    const { url, method, headers } = post(QUESTION)
    const request = new NextRequest(url, { method, headers, body: JSON.stringify(QUESTION) })
    const answer = await POST(request, { params: Promise.resolve({}) })
    expect(await answer.json()).toEqual(recorded.CHAT_JSON)
  })

  it.each([undefined, null, {}, 'limiter'])(
    'refuses %j as a limiter at construction',
    (limiter) => {
      expect(() => modelHandler(limiter as never, chat, send)).toThrow(
        expect.objectContaining({ name: 'ConfigError', option: 'modelHandler.limiter' }),
      )
    },
  )
})

/** Makes a call with an unbound waitUntil; it must be settled, and the mistake heard of. */
async function settledBy(call: (parts: object) => Promise<unknown>) {
  const [onUsage, onError] = [vi.fn<() => void>(), vi.fn<(error: unknown) => void>()]
  await call({ ...options, waitUntil: unbound, onUsage, onError })
  await expect.poll(() => onUsage).toHaveBeenCalledOnce()
  expect(onError).toHaveBeenCalledExactlyOnceWith(expect.any(TypeError))
}

describe('an unbound waitUntil', () => {
  it('is reported and loses nothing in modelHandler', () =>
    settledBy(async (parts) => {
      const handle = modelHandler(limiterOf(), { ...chat, ...parts }, send)
      expect(await (await handle(post(QUESTION))).json()).toEqual(recorded.CHAT_JSON)
    }))

  it('is reported and loses nothing in limitedFetch', () =>
    settledBy(async (parts) => {
      const limited = limitedFetch(limiterOf(), { ...options, ...parts, fetch: send })
      expect(await (await limited(post(QUESTION))).json()).toEqual(recorded.CHAT_JSON)
    }))

  it('is reported and loses nothing in limitedModel', () =>
    settledBy(async (parts) => {
      const inner: AiSdkModel = {
        specificationVersion: 'v2',
        provider: 'test',
        modelId: 'gpt-4o',
        doGenerate: async () => ({
          content: [],
          usage: { inputTokens: 100, outputTokens: 50, totalTokens: 150 },
        }),
        doStream: async () => ({}),
      }
      const limited = limitedModel(inner, limiterOf(), { ...options, ...parts })
      const { usage } = (await limited.doGenerate({ prompt: [] })) as { usage: object }
      expect(usage).toMatchObject({ inputTokens: 100 })
    }))

  it('a call without an answer', async () => {
    const onError = vi.fn<(error: unknown) => void>()
    const limiter = limiterOf()
    const handle = modelHandler(limiter, { ...chat, waitUntil: unbound, onError }, () =>
      Promise.reject(new Error('down')),
    )
    expect((await handle(post(QUESTION))).status).toBe(502)
    expect(onError).toHaveBeenCalledWith(expect.any(TypeError))
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
  })
})
