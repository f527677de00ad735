import {
  definePrices,
  estimateTokens,
  limitedFetch,
  meter,
  meterStream,
  type Usage,
} from '@sluice/ai'
import * as formats from '@sluice/ai/formats'
import { bedrock, gemini, ollama, workersAi, type UsageFormat } from '@sluice/ai/formats'
import { describe, expect, it } from 'vitest'
import { bytesInUse } from '../../support/heap.ts'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { handlerOf, limiterOf, post, PRICES, QUESTION, subject, used } from '../doors.ts'
import { BEDROCK } from '../samples/formats/bedrock.ts'
import { GEMINI } from '../samples/formats/gemini.ts'
import { sse, TEXT } from '../samples/formats/sample.ts'
import { WORKERS_AI } from '../samples/formats/workers-ai.ts'
import { bytesOf, ledger, readMetered, sourceOf } from '../support.ts'

const ALL: readonly UsageFormat[] = Object.values(formats)
const [REST] = WORKERS_AI.json

describe('the formats of a limited call', () => {
  it('let modelHandler charge what the provider tells', async () => {
    const options = { formats: [workersAi], api: 'openai-chat' }
    const { handle, limiter, usages } = handlerOf(() => new Response(REST?.body), options)
    await (await handle(post(QUESTION))).text()
    await expect.poll(() => usages).toHaveLength(1)
    expect(usages[0]).toMatchObject({ ...REST?.usage, source: 'provider', complete: true })
    expect(await used(limiter, 'budget.daily')).toBe(40 + 3_100)
  })

  it('let limitedFetch charge what the provider tells', async () => {
    const limiter = limiterOf()
    const usages: Usage[] = []
    const limited = limitedFetch(limiter, {
      subject: subject(),
      prices: PRICES,
      formats: [workersAi],
      onUsage: (usage) => usages.push(usage),
      fetch: () => Promise.resolve(new Response(REST?.body)),
    })
    const init = { method: 'POST', body: JSON.stringify(QUESTION) }
    await (await limited('https://api.example/v1/chat/completions', init)).text()
    await expect.poll(() => usages).toHaveLength(1)
    expect(await used(limiter, 'budget.daily')).toBe(40 + 3_100)
  })

  it('let a call of Claude be sent to Bedrock', async () => {
    const claude = BEDROCK.stream.find((sample) => sample.usage.model !== undefined)
    const options = { formats: [bedrock], api: 'anthropic-messages' }
    const { handle, usages } = handlerOf(() => new Response(claude?.body), options)
    const body = { ...QUESTION, model: 'claude-opus-4-5', max_tokens: 1_000 }
    expect(await (await handle(post(body))).bytes()).toEqual(claude?.body)
    await expect.poll(() => usages).toHaveLength(1)
    expect(usages[0]).toMatchObject({ ...claude?.usage, complete: true })
  })

  it('have their answers priced by the model that they name', async () => {
    const prices = definePrices({
      'gpt-4o': { input: 1_000_000, output: 10_000_000 },
      'gemini-2.5-flash': { input: 300_000, cachedInput: 75_000, output: 2_500_000 },
    })
    const options = { formats: [gemini], prices }
    const { handle, limiter, usages } = handlerOf(() => new Response(GEMINI.json[0]?.body), options)
    await (await handle(post(QUESTION))).text()
    await expect.poll(() => usages).toHaveLength(1)
    // 216 tokens of input, 1,024 cached ones and 310 of output.
    const micros = Math.ceil(216 * 0.3 + 1_024 * 0.075 + 310 * 2.5)
    expect(await used(limiter, 'budget.daily')).toBe(micros)
  })
})

describe('with all formats a meter still charges', () => {
  const LONG = TEXT.repeat(20)
  const BODIES: Readonly<Record<string, string>> = {
    'text that begins with a number in brackets': `[1] ${LONG}`,
    'text that begins with braces in brackets': `[{{name}} ${LONG}`,
    'text behind a list': `[{"a":1},{"b":2}] ${LONG}`,
    'text in a list': JSON.stringify([{ a: 1 }, LONG]),
    'text within other members': sse({ candidates: [{ text: LONG }] }),
    'text in a response of no known kind': JSON.stringify({ result: { text: LONG } }),
    'text behind the end of an answer of nothing': `{"type":"message-end"}\n${LONG}`,
    'text that begins with a zero byte': `\0${LONG}`,
    'answers in other words': JSON.stringify({ output: { text: LONG } }),
  }

  it.each(Object.entries(BODIES))('%s', async (_, body) => {
    const { usage } = await readMetered(body, { formats: ALL })
    expect(usage).toMatchObject({ source: 'counted', complete: false })
    expect(usage.output).toBeGreaterThanOrEqual(estimateTokens(LONG))
  })
})

describe('a list of answers that does not end', () => {
  it.each(['[', '[{"a":"', '[{},', '[{"candidates":[{"content":{"parts":[{"text":"'])(
    'is not kept: %s',
    async (beginning) => {
      const piece = bytesOf(
        beginning === '[{},' ? '{},'.padEnd(20).repeat(5_000) : ' '.repeat(100_000),
      )
      const pieces = [bytesOf(beginning), ...Array.from({ length: 100 }, () => piece)]
      const before = bytesInUse()
      const book = ledger()
      const source = sourceOf(pieces, 'open').stream
      const reader = meterStream(source, { settle: book.settle, formats: ALL }).getReader()
      for (let read = 0; read < 100; read += 1) await reader.read()
      // Of the 10 MB that have passed.
      expect(bytesInUse() - before).toBeLessThan(3_000_000)
      await reader.cancel()
      expect(book.usages).toMatchObject([{ complete: false }])
    },
  )
})

describe('a format of your own', () => {
  const own: UsageFormat = {
    fields: ['meta.tokens'],
    read({ kind, words, meta }) {
      if (kind !== 'own' && meta === undefined) return undefined
      const tokens = (meta as { tokens?: number[] } | undefined)?.tokens
      const [input, output] = tokens ?? []
      const usage = input === undefined || output === undefined ? undefined : { input, output }
      return { model: 'own', text: words, usage, isLast: usage !== undefined }
    },
  }

  it('is read like the others, also in an event that is too long to keep', async () => {
    const end = { kind: 'own', meta: { tokens: [40, 310], trace: 'x'.repeat(100_000) } }
    const { usage } = await readMetered(sse({ kind: 'own', words: TEXT }, end), { formats: [own] })
    expect(usage).toMatchObject({ model: 'own', input: 40, output: 310, complete: true })
  })

  it('that throws affects no answer, and is reported', async () => {
    const errors: unknown[] = []
    const failing: UsageFormat = {
      read() {
        throw new Error('no such member')
      },
    }
    const onError = (error: unknown): void => void errors.push(error)
    const { usage } = await readMetered('{"a":1}', { formats: [failing], onError })
    expect(usage.complete).toBe(false)
    expect(errors).toMatchObject([{ message: 'no such member' }])
  })
})

const settle = (): void => undefined

describe('a mistake in the formats is an error that names the option', () => {
  const of = loosely((options: never) => meter(new Response('x'), options))
  const stream = loosely((options: never) => meterStream(new Response('x').body!, options))
  const door = loosely((options: never) => handlerOf(() => new Response(''), options))
  mistakesAreNamed([
    ['no list', () => of({ settle, formats: ollama }), 'meter.formats'],
    ['a name', () => of({ settle, formats: ['gemini'] }), 'meter.formats'],
    ['nothing', () => stream({ settle, formats: null }), 'meterStream.formats'],
    ['a list of nothing', () => stream({ settle, formats: [undefined] }), 'meterStream.formats'],
    ['a handler with a name', () => door({ formats: 'gemini' }), 'modelHandler.formats'],
  ])
})
