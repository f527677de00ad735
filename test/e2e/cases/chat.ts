import { expect, vi } from 'vitest'
import { withinOneDay } from '../support/target.ts'
import { chunk, newChatter, nextAsked, usageChunk, usageOf, type Used } from '../support/chat.ts'
import { limitHeaders, type Case } from './case.ts'

const NOTHING: Used = { 'budget.daily': 0, tpm: 0, 'in-flight': 0 }
const SSE = { 'content-type': 'text/event-stream' }
/** Input that is written to a cache costs more, and nobody knows before the answer. */
const mostOf = (input: number, output: number): number => Math.ceil(2.5 * input + 10 * output)
/** The price of the model, in micro-dollars. */
const price = (input: number, output: number): number => Math.ceil(2 * input + 10 * output)

/** Claims about tokens, dollars and calls in flight at the demo's `/api/chat`. */
export const chat: readonly Case[] = [
  {
    claim: 'answers 401 without a valid token, and calls neither store nor model',
    async check(target) {
      const before = [target.store.requests, target.upstream.requests.length]
      const answer = await fetch(`${target.url}/api/chat`, { method: 'POST', body: '{}' })
      expect(answer.status).toBe(401)
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_api_key' } })
      expect([target.store.requests, target.upstream.requests.length]).toEqual(before)
    },
  },
  {
    claim:
      'answers 400 to a model without a price and to an invalid chat, charges a request, and calls no model',
    async check(target) {
      const { post } = await newChatter(target)
      const unknown = await post({ model: 'gpt-none' })
      expect(unknown.status).toBe(400)
      expect(await unknown.json()).toEqual({
        error: {
          message:
            'model: "gpt-none" has no price, or is not in the option models: add it by `sluice prices set` or definePrices, or set unknownModel',
          type: 'invalid_request_error',
          param: 'model',
          code: 'unknown_model',
        },
      })
      const before = [target.store.requests, target.upstream.requests.length] as const
      const odd = [
        { model: 4 },
        { model: '__proto__' },
        { messages: [] },
        { messages: ['hi'] },
        { stream: 'yes' },
        { max_tokens: -1 },
        { max_tokens: 0 },
        { max_completion_tokens: '9' },
      ]
      for (const body of odd) {
        const answer = await post(body)
        expect(answer.status, `with ${Object.keys(body).join()}`).toBe(400)
        expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
      }
      const long = await post({ messages: [{ role: 'user', content: 'x'.repeat(200_000) }] })
      expect(long.status).toBe(413)
      const [requests, calls] = before
      const now = [target.store.requests, target.upstream.requests.length]
      expect(now).toEqual([requests + odd.length + 1, calls])
    },
  },
  {
    claim: 'asks the model for at most the reserved output, and for its usage',
    async check(target) {
      const { post } = await newChatter(target)
      const askedFor = async (body: object): Promise<object | undefined> => {
        await (await post(body)).text()
        return target.upstream.requests.at(-1)?.body
      }
      expect(await askedFor({ temperature: 0 })).toMatchObject({
        max_completion_tokens: 400,
        temperature: 0,
      })
      expect(await askedFor({ max_tokens: 7 })).toMatchObject({ max_completion_tokens: 7 })
      expect(await askedFor({ max_completion_tokens: 7 })).not.toHaveProperty('max_tokens')
      expect(await askedFor({ stream: true })).toMatchObject({
        stream: true,
        stream_options: { include_usage: true },
      })
    },
  },
  {
    claim: 'charges the most that a call may cost while it runs, and then its actual cost',
    check: (target) =>
      withinOneDay(async () => {
        const { post, used, settled } = await newChatter(target)
        const model = nextAsked(target)
        const pending = post({ stream: true, max_tokens: 100 })
        const speaking = await model
        const during = await used()
        const input = (during['tpm'] ?? 0) - 100
        expect(input).toBeGreaterThan(5)
        expect(during).toMatchObject({ 'budget.daily': mostOf(input, 100), 'in-flight': 1 })
        speaking.writeHead(200, SSE)
        speaking.write(chunk('It scatters.'))
        const answer = await pending
        expect(answer.status).toBe(200)
        expect(limitHeaders(answer)['ratelimit']).toContain('"in-flight";r=4;')
        speaking.end(`${usageChunk(12, 34)}data: [DONE]\n\n`)
        expect(await answer.text()).toContain('It scatters.')
        expect(await settled()).toEqual({ ...NOTHING, tpm: 46, 'budget.daily': price(12, 34) })
      }),
  },
  {
    claim: 'settles an answer that is not a stream, too, with two requests to the store',
    check: (target) =>
      withinOneDay(async () => {
        const { post, used } = await newChatter(target)
        target.upstream.respond = (response) => {
          response.writeHead(200, { 'content-type': 'application/json' })
          response.end(JSON.stringify({ choices: [], usage: usageOf(10, 5) }))
        }
        const before = target.store.requests
        expect(await (await post({})).json()).toMatchObject({ usage: { total_tokens: 15 } })
        await expect.poll(() => target.store.requests - before).toBe(2)
        expect(await used()).toEqual({ ...NOTHING, tpm: 15, 'budget.daily': price(10, 5) })
      }),
  },
  {
    claim: 'gives everything back when the model answers an error, and passes on the error',
    async check(target) {
      const { post, settled } = await newChatter(target)
      target.upstream.respond = (response) => {
        response.writeHead(503, { 'content-type': 'application/json' })
        response.end('{"error":{"message":"overloaded"}}')
      }
      const overloaded = await post({ stream: true })
      expect(overloaded.status).toBe(503)
      expect(await overloaded.json()).toEqual({ error: { message: 'overloaded' } })
      expect(await settled()).toEqual(NOTHING)
    },
  },
  {
    claim: 'keeps the estimate when the model breaks off before it answers, and frees the slot',
    check: (target) =>
      withinOneDay(async () => {
        const { post, used, settled } = await newChatter(target)
        const model = nextAsked(target)
        const pending = post({})
        const speaking = await model
        const during = await used()
        speaking.destroy()
        const unreachable = await pending
        expect(unreachable.status).toBe(502)
        expect(await unreachable.json()).toMatchObject({ error: { code: 'upstream_unavailable' } })
        expectEstimate(await settled(), during)
      }),
  },
  {
    claim: 'keeps the estimate when the client goes away before it has an answer, stream or not',
    check: (target) =>
      withinOneDay(async () => {
        for (const stream of [true, false]) {
          const { post, used, settled } = await newChatter(target)
          const model = nextAsked(target)
          const client = new AbortController()
          const pending = post({ stream }, client.signal)
          const speaking = await model
          const during = await used()
          const hungUp = new Promise((resolve) => speaking.once('close', resolve))
          client.abort()
          await expect(pending).rejects.toThrow(/abort/)
          await hungUp
          expectEstimate(await settled(), during)
        }
      }),
  },
  {
    claim: 'charges the text so far when the client goes away, and stops the model',
    check: (target) =>
      withinOneDay(async () => {
        const { post, settled } = await newChatter(target)
        const model = nextAsked(target)
        const client = new AbortController()
        const pending = post({ stream: true, max_tokens: 100 }, client.signal)
        const speaking = await model
        speaking.writeHead(200, SSE)
        speaking.write(chunk('one two three four five six'))
        const reader = ((await pending).body as ReadableStream<Uint8Array>).getReader()
        await reader.read()
        const hungUp = new Promise((resolve) => speaking.once('close', resolve))
        client.abort()
        await hungUp
        expectPart(await settled(), 6, 100)
      }),
  },
  {
    claim: 'charges the text so far when the model breaks off',
    check: (target) =>
      withinOneDay(async () => {
        const { post, settled } = await newChatter(target)
        const model = nextAsked(target)
        const pending = post({ stream: true, max_tokens: 100 })
        const speaking = await model
        speaking.writeHead(200, SSE)
        speaking.write(chunk('one two three four five six'))
        const reader = ((await pending).body as ReadableStream<Uint8Array>).getReader()
        await reader.read()
        speaking.destroy()
        await expect(reader.read()).rejects.toThrow(/terminated/)
        expectPart(await settled(), 6, 100)
      }),
  },
  {
    claim: 'runs no more calls at once than the plan allows, whoever else is waiting',
    async check(target) {
      const [{ post, used, settled }, other] = [await newChatter(target), await newChatter(target)]
      const speaking: (() => void)[] = []
      target.upstream.respond = (response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        speaking.push(() => response.end(JSON.stringify({ choices: [], usage: usageOf(9, 1) })))
      }
      const pending = Array.from({ length: 5 }, () => post({}))
      await vi.waitFor(() => expect(speaking).toHaveLength(5), { timeout: 30_000 })
      const sixth = await post({})
      expect(sixth.status).toBe(429)
      expect(limitHeaders(sixth)).toMatchObject({ 'retry-after': '1', 'retry-after-ms': '1000' })
      expect(await sixth.json()).toMatchObject({ error: { code: 'concurrency_exceeded' } })
      expect(await used()).toMatchObject({ 'in-flight': 5 })
      const others = other.post({})
      await vi.waitFor(() => expect(speaking).toHaveLength(6), { timeout: 30_000 })
      for (const end of speaking) end()
      const answers = await Promise.all([...pending, others])
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200])
      expect(await settled()).toMatchObject({ tpm: 50, 'in-flight': 0 })
    },
  },
  {
    claim: 'stops a tenant at its budget until midnight, and no other',
    check: (target) =>
      withinOneDay(async () => {
        const [{ post, settled }, other] = [await newChatter(target), await newChatter(target)]
        // More than was reserved: the only way past a budget.
        target.upstream.respond = (response) => {
          response.writeHead(200, { 'content-type': 'application/json' })
          response.end(JSON.stringify({ choices: [], usage: usageOf(1_000, 6_000) }))
        }
        expect((await post({})).status).toBe(200)
        expect(await settled()).toMatchObject({ 'budget.daily': 50_000, tpm: 7_000 })
        const denied = await post({})
        expect(denied.status).toBe(429)
        expect(limitHeaders(denied)).toMatchObject({ 'x-should-retry': 'false' })
        expect(await denied.json()).toMatchObject({
          error: { type: 'insufficient_quota', code: 'insufficient_quota' },
        })
        expect(Number(denied.headers.get('retry-after'))).toBeLessThanOrEqual(86_400)
        expect((await other.post({})).status).toBe(200)
      }),
  },
]

/** Expects the whole reservation of the one call to stay charged, except its slot. */
function expectEstimate(used: Used, during: Used): void {
  expect(during).toMatchObject({ 'in-flight': 1 })
  expect(during['budget.daily']).toBeGreaterThan(price(0, 400))
  expect(used).toEqual({ ...during, 'in-flight': 0 })
}

/** Expects the usage to be at least the words of the answer, and less than the reservation. */
function expectPart(used: Used, words: number, most: number): void {
  expect(used['tpm']).toBeGreaterThan(words)
  expect(used['tpm']).toBeLessThan(most)
  expect(used['budget.daily']).toBeGreaterThanOrEqual(price(0, words))
  expect(used['budget.daily']).toBeLessThan(price(0, most))
}
