import { startLocal, type LocalServer } from '@sluice/local'
import OpenAI, { AuthenticationError, BadRequestError, RateLimitError } from 'openai'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { messages, newChatter, type Chatter } from '../e2e/support/chat.ts'
import { startNext } from '../e2e/support/next-app.ts'
import { withinOneDay, type App } from '../e2e/support/target.ts'
import { SECRET } from '../e2e/support/tokens.ts'
import { MODELS } from '../support/models.ts'

/** The price of the model, in micro-dollars. */
const price = ({ prompt_tokens, completion_tokens }: OpenAI.CompletionUsage): number =>
  Math.ceil(2 * prompt_tokens + 10 * completion_tokens)

describe("the demo's /api/chat with the openai client", () => {
  let store: LocalServer | undefined
  let demo: App | undefined
  beforeAll(async () => {
    store = await startLocal({ engine: 'redis-server' })
    vi.stubEnv('DEMO_MODEL_LATENCY_MS', '40')
    demo = await startNext({
      storeUrl: store.url,
      storeToken: store.token,
      // Without a model to ask it answers by itself.
      upstreamUrl: '',
      upstreamKey: '',
      secret: SECRET,
    })
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await demo?.stop()
    await store?.close()
  })

  const newTenant = (plan?: string): Promise<Chatter> => newChatter({ url: demo?.url ?? '' }, plan)
  const clientOf = (apiKey: string): OpenAI => new OpenAI({ apiKey, baseURL: `${demo?.url}/api` })

  it('settles exactly the usage that an answer reports', () =>
    withinOneDay(async () => {
      const tenant = await newTenant()
      const { completions } = clientOf(tenant.token).chat
      const answer = await completions.create({ model: MODELS.openai, messages })
      expect(answer.choices[0]?.message.content).toMatch(/^A budget that .* last word\.$/)
      expect(answer.choices[0]?.finish_reason).toBe('stop')
      await expectSettled(tenant, answer.usage as OpenAI.CompletionUsage)
    }))

  it('settles exactly the usage that a stream reports at its end', () =>
    withinOneDay(async () => {
      const tenant = await newTenant()
      const stream = await clientOf(tenant.token).chat.completions.create({
        model: MODELS.openai,
        messages,
        stream: true,
        stream_options: { include_usage: true },
      })
      const chunks: OpenAI.ChatCompletionChunk[] = []
      for await (const chunk of stream) chunks.push(chunk)
      const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
      expect(text).toMatch(/^A budget that .* last word\.$/)
      expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true)
      await expectSettled(tenant, chunks.at(-1)?.usage as OpenAI.CompletionUsage)
    }))

  it('settles a stream whose client did not ask for its usage', () =>
    withinOneDay(async () => {
      const tenant = await newTenant()
      const { completions } = clientOf(tenant.token).chat
      const stream = completions.stream({ model: MODELS.openai, messages })
      const answer = await stream.finalChatCompletion()
      expect(answer.choices[0]?.message.content).toMatch(/last word\.$/)
      // The client hears of a usage only if it asks. The model answers everyone alike.
      expect(await stream.totalUsage()).toMatchObject({ total_tokens: 0 })
      const asking = clientOf((await newTenant()).token).chat.completions.stream({
        model: MODELS.openai,
        messages,
        stream_options: { include_usage: true },
      })
      await expectSettled(tenant, await asking.totalUsage())
    }))

  it('answers at most max_tokens and reports the cut', () =>
    withinOneDay(async () => {
      const tenant = await newTenant()
      const { completions } = clientOf(tenant.token).chat
      const answer = await completions.create({ model: MODELS.openai, messages, max_tokens: 9 })
      expect(answer.choices[0]?.finish_reason).toBe('length')
      expect(answer.usage?.completion_tokens).toBeLessThanOrEqual(9)
      await expectSettled(tenant, answer.usage as OpenAI.CompletionUsage)
    }))

  it('charges a stream that the client aborts for a part of it, and frees its slot', () =>
    withinOneDay(async () => {
      const tenant = await newTenant()
      const { completions } = clientOf(tenant.token).chat
      const stream = await completions.create({ model: MODELS.openai, messages, stream: true })
      let words = 0
      for await (const { choices } of stream) {
        if (choices[0]?.delta.content) words += 1
        if (words === 5) break
      }
      const used = await tenant.settled()
      expect(used['tpm']).toBeGreaterThan(5)
      // The reserved part: 400 tokens of output.
      expect(used['budget.daily']).toBeLessThan(4_000)
    }))

  it('gets one request when the budget is used up, and waits for nothing', () =>
    withinOneDay(async () => {
      const tenant = await newTenant('trial')
      const { completions } = clientOf(tenant.token).chat
      const ask = () => completions.create({ model: 'gpt-4', messages, max_tokens: 145 })
      for (let time = 0; time < 2; time += 1) {
        await ask()
        await tenant.settled()
      }
      const before = store?.requests ?? 0
      const startedAt = performance.now()
      const error = await ask().catch((reason: unknown) => reason)
      // Its budget is back in a day. A bound for hangs: a busy machine may take seconds.
      expect(performance.now() - startedAt).toBeLessThan(20_000)
      expect(error).toBeInstanceOf(RateLimitError)
      expect(error).toMatchObject({ code: 'insufficient_quota' })
      expect((store?.requests ?? 0) - before).toBe(1)
    }))

  it('answers like the API to an unknown model and to an invalid key', async () => {
    const tenant = await newTenant()
    const unknown = clientOf(tenant.token).chat.completions.create({ model: 'gpt-none', messages })
    await expect(unknown).rejects.toBeInstanceOf(BadRequestError)
    const pending = clientOf('sk-none').chat.completions.create({ model: MODELS.openai, messages })
    await expect(pending).rejects.toBeInstanceOf(AuthenticationError)
  })
})

/** Expects the settled cost to be what the client was told, to the micro-dollar. */
async function expectSettled({ settled }: Chatter, usage: OpenAI.CompletionUsage): Promise<void> {
  const { total_tokens: total, prompt_tokens: input, completion_tokens: output } = usage
  expect([input, output].every((tokens) => tokens > 0)).toBe(true)
  expect(total).toBe(input + output)
  expect(await settled()).toEqual({
    'budget.daily': price(usage),
    tpm: total,
    'in-flight': 0,
  })
}
