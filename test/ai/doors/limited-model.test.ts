import { inspect } from 'node:util'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { limitedModel, ModelCallDenied, usd, type LimitedModelOptions } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import * as ai7 from 'ai'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { limiterOf, limiterWith, PRICES, used } from '../doors.ts'
import { startProvider, WISHES, type Server } from '../provider.ts'
import { VERSIONS } from '../sdk-versions.ts'

let provider: Server
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider[Symbol.asyncDispose]())

const gpt = () =>
  createOpenAICompatible({
    name: 'provider',
    apiKey: 'none',
    baseURL: `${provider.url}/v1`,
    includeUsage: true,
  })('gpt-4o')

/** A limited model, and the calls that were settled. */
function limited(options: Partial<LimitedModelOptions> = {}, limiter: Limiter = limiterOf()) {
  const settled = vi.fn<(...heard: unknown[]) => void>()
  const model = limitedModel(gpt(), limiter, {
    subject: { tenant: 'acme' },
    prices: PRICES,
    onUsage: settled,
    ...options,
  })
  return { limiter, model, settled }
}

describe.each(Object.entries(VERSIONS))('a limited model of %s', (_, { sdk, model: makeModel }) => {
  const generate = sdk.generateText as (options: object) => Promise<{ steps: unknown[] }>
  const tools = {
    look: (sdk.tool as (options: object) => unknown)({
      inputSchema: sdk.jsonSchema({ type: 'object', properties: {} }),
      execute: () => 'nothing',
    }),
  }
  const options = { subject: { tenant: 'acme' }, prices: PRICES, maxOutput: 500 }

  it('settles each step of an agent', async () => {
    const limiter = limiterOf()
    const model = limitedModel(makeModel(), limiter, options)
    const stopWhen = sdk.stepCountIs(4)
    const { steps } = await generate({ model, prompt: 'Go on.', tools, stopWhen })
    expect(steps).toHaveLength(4)
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBe(4 * (100 + 500))
  })

  it('stops an agent at its budget, with an error that is not tried again', async () => {
    const limiter = limiterWith(usd(0.008))
    const inner = makeModel()
    const model = limitedModel(inner, limiter, options)
    const stopWhen = sdk.stepCountIs(30)
    const run = generate({ model, prompt: 'Go on.', tools, stopWhen })
    await expect(run).rejects.toMatchObject({
      name: 'ModelCallDenied',
      isRetryable: false,
      decision: { violated: { name: 'budget.daily' } },
    })
    // After five steps 3,000 of 8,000 micro-dollars are spent, and the sixth may use 5,000 and some.
    expect(inner.doGenerateCalls).toHaveLength(5)
    expect(await used(limiter, 'budget.daily')).toBe(5 * 600)
  })

  it('sends the maximum that it has reserved', async () => {
    const inner = makeModel()
    const model = limitedModel(inner, limiterOf(), options)
    await generate({ model, prompt: 'Hello.' })
    await generate({ model, prompt: 'Hello.', maxOutputTokens: 20 })
    const calls = inner.doGenerateCalls as readonly { maxOutputTokens?: number }[]
    expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([500, 20])
  })
})

describe('a limited model', () => {
  it('changes no answer of a real provider, streamed or not', async () => {
    const { model, limiter, settled } = limited()
    const plain = await ai7.generateText({ model: gpt(), prompt: 'Why?' })
    const { text, usage } = await ai7.generateText({ model, prompt: 'Why?' })
    expect([text, usage]).toEqual([plain.text, plain.usage])
    expect(await ai7.streamText({ model, prompt: 'Why?' }).text).toBe(plain.text)
    await expect.poll(() => settled).toHaveBeenCalledTimes(2)
    expect(await used(limiter, 'budget.daily')).toBe(2 * (1_204 + 3_100))
  })

  it('denies a stream before it has begun, as a provider does: 429', async () => {
    const { model } = limited({ maxOutput: 1_000_000, minOutput: 200_000 })
    const onError = vi.fn<(...heard: unknown[]) => void>()
    const result = ai7.streamText({ model, prompt: 'Why?', maxOutputTokens: 200_000, onError })
    await result.consumeStream()
    const [{ error }] = onError.mock.calls[0] as [{ error: unknown }]
    expect(error).toBeInstanceOf(ModelCallDenied)
    expect(ai7.APICallError.isInstance(error)).toBe(true)
    expect(error).toMatchObject({ statusCode: 429, responseHeaders: { 'x-should-retry': 'false' } })
    // A log does not print the whole decision.
    expect((error as ModelCallDenied).decision.policies).toHaveLength(4)
    expect(inspect(error)).toMatch(
      /^ModelCallDenied: This call may cost \$[\d.]+; \$1\.00 of \$1\.00 of policy "budget\.daily" is left\. It never fits\./,
    )
    expect(inspect(error)).not.toContain('policies')
  })

  it('keeps the estimate of a stream that is aborted', async () => {
    const { model, limiter, settled } = limited()
    const controller = new AbortController()
    const { signal } = controller
    const result = ai7.streamText({
      model,
      prompt: WISHES.stall,
      abortSignal: signal,
      maxOutputTokens: 1_000,
    })
    for await (const _ of result.textStream) break
    controller.abort()
    await expect.poll(() => settled).toHaveBeenCalledOnce()
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10_000)
    expect(await used(limiter, 'in-flight')).toBe(0)
  })

  it('refuses tools that the provider runs, unless they are allowed', async () => {
    const tools = [{ type: 'provider', id: 'openai.web_search', name: 'web_search', args: {} }]
    const call = { prompt: [], tools }
    await expect(limited().model.doGenerate(call as never)).rejects.toThrow('limitedModel.tools')
    const allowed = limited({ allowFields: ['tools'] }).model.doGenerate(call as never)
    await expect(allowed).resolves.toBeDefined()
  })

  it('counts a file as what only the provider knows, and not by its bytes', async () => {
    const { model, limiter } = limited({ unseenTokens: 9_000 })
    const data = new Uint8Array(100_000)
    const file = { type: 'file', mediaType: 'application/pdf', data } as const
    const prompt = [{ role: 'user', content: [file] }]
    await model.doGenerate({ prompt, maxOutputTokens: 1 } as never).then(undefined, () => undefined)
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    expect(await used(limiter, 'tpm')).toBeLessThan(10_000)
  })

  it('counts the files and images that a tool returns in the same way', async () => {
    const limiter = limiterOf()
    let held = 0
    const doGenerate = async () => {
      held = await used(limiter, 'tpm')
      throw new Error('no answer')
    }
    const inner = { specificationVersion: 'v4', provider: 'p', modelId: 'gpt-4o', doGenerate }
    const model = limitedModel(inner as never, limiter, {
      subject: { tenant: 'acme' },
      prices: PRICES,
      unseenTokens: 9_000,
      imageTokens: 1_000,
    }) as typeof inner & { doGenerate(call: object): Promise<never> }
    const data = 'A'.repeat(400_000)
    const value = [
      { type: 'text', text: 'Here they are.' },
      { type: 'file-data', mediaType: 'application/pdf', data },
      { type: 'image-data', mediaType: 'image/png', data },
      { type: 'media', mediaType: 'image/png', data },
      { type: 'image-url', url: 'https://images.example/1.png' },
    ]
    const output = { type: 'content', value }
    const content = [{ type: 'tool-result', toolCallId: 'c', toolName: 'look', output }]
    const prompt = [{ role: 'tool', content }]
    await expect(model.doGenerate({ prompt, maxOutputTokens: 1 })).rejects.toThrow('no answer')
    expect(held).toBeGreaterThan(12_000)
    expect(held).toBeLessThan(13_000)
  })

  it('says at construction which option is wrong', () => {
    expect(() => limited({ maxOutput: 1.5 })).toThrow('maxOutput')
    expect(() => limited({ maxDelay: 1 } as never)).toThrow('limitedModel.maxDelay')
  })
})
