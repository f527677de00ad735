import { estimateTokens, meterStream, type Usage } from '@sluice/ai'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as recorded from '../recordings.ts'
import { bytesOf, ledger, readMetered, sourceOf } from '../support.ts'

const LONG = 'The quick brown fox jumps over the lazy dog. '.repeat(50)
const SPOKEN = estimateTokens(LONG)

const sse = (...events: readonly unknown[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const lines = (...values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')
const typed = (type: string) => ({ 'content-type': type })
const EVENTS = typed('text/event-stream')
const usage = (more: object): object => ({ prompt_tokens: 9, completion_tokens: 4, ...more })

const answer = (reported: unknown): object => ({
  model: 'm',
  choices: [{ message: { role: 'assistant', content: LONG } }],
  usage: reported,
})

/** The usage of an answer that comes in these pieces. */
async function usageOf(pieces: readonly Uint8Array<ArrayBuffer>[], type: string): Promise<Usage> {
  const book = ledger()
  const stream = meterStream(sourceOf(pieces).stream, { settle: book.settle }, type)
  await new Response(stream).bytes()
  expect(book.usages).toHaveLength(1)
  return book.settled
}

const OLLAMA = lines(
  ...Array.from({ length: 100 }, (_, index) => ({
    model: 'llama',
    message: { role: 'assistant', content: `hello there world ${index}` },
    done: false,
  })),
)
const CHUNKS = lines(
  { model: 'm', choices: [{ delta: { content: 'Hello' } }] },
  { model: 'm', choices: [{ delta: { content: ' world' } }] },
  { model: 'm', choices: [], usage: usage({}) },
)

/** Bodies that begin like one format and are another; none reports a usage. */
const DISGUISED: Readonly<Record<string, string>> = {
  'lines of JSON': OLLAMA,
  'text that begins with a link': `[Link](http://x.example) ${LONG}`,
  'text that begins with a number in brackets': `[1] ${LONG}`,
  'text that begins with a bracket': `[Note: ${LONG}`,
  'text that begins with braces': `{{name}} ${LONG}`,
  'text behind JSON': `{"text":"Hello"}\n${LONG}`,
  'text that begins with a word like a field': `ideally, ${LONG}`,
  'text that begins with a field': `data science: ${LONG}`,
  'text that begins with a field and a colon': `event: ${LONG}\n\n${LONG}`,
  'text that begins like data': `data: ${LONG}\n${LONG}`,
  'text that begins with a smiley': `:-) ${LONG}`,
  'text that begins like an end': `[DONE] ${LONG}`,
  'text behind what looks like an end': `data: [DONE]\n\n${LONG}`,
  'text behind an end of nothing': `{"type":"message_stop"}\n${LONG}`,
  'a list of choices that is no answer': lines({ question: LONG, choices: ['a', 'b'] }),
  'several of them': lines(...[1, 2].map((n) => ({ n, choices: ['a', 'b'], question: LONG }))),
  'a text beside a delta': lines({ delta: 'x', text: LONG }),
}

describe('a meter charges every answer:', () => {
  it.each(Object.entries(DISGUISED))('%s', async (_, body) => {
    for (const type of ['text/plain', 'application/x-ndjson', '']) {
      const { output, source } = (await readMetered(body, {}, typed(type))).usage
      expect(source).toBe('counted')
      expect(output).toBeGreaterThanOrEqual(body === OLLAMA ? 500 : SPOKEN)
    }
  })

  it('at the same cost wherever the chunks are cut', async () => {
    const bodies = [...Object.values(DISGUISED), CHUNKS]
    const places = fc.array(fc.nat(3_000), { maxLength: 20 })
    const types = fc.constantFrom('', 'text/event-stream')
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...bodies), places, types, async (body, cuts, type) => {
        const bytes = bytesOf(body)
        const at = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b)]
        const pieces = at.map((from, piece) => bytes.slice(from, at[piece + 1]))
        expect(await usageOf(pieces, type)).toEqual(await usageOf([bytes], type))
      }),
      { numRuns: 300 },
    )
    for (const body of bodies) {
      const bytes = Array.from(bytesOf(body), (byte) => Uint8Array.of(byte))
      expect(await usageOf(bytes, '')).toEqual(await usageOf([bytesOf(body)], ''))
    }
  })

  it('text whose content-type wrongly says events', async () => {
    for (const body of [LONG, `: hello\n\n${LONG}`]) {
      const { output } = (await readMetered(body, {}, EVENTS)).usage
      expect(output).toBeGreaterThanOrEqual(SPOKEN)
    }
    const json = await readMetered(recorded.CHAT_JSON, {}, EVENTS)
    expect(json.usage).toMatchObject({ input: 1_204, output: 310, source: 'provider' })
  })

  it('text behind JSON that reported a usage', async () => {
    const { output, source } = (await readMetered(`${lines({ usage: usage({}) })}${LONG}`)).usage
    expect(source).toBe('counted')
    expect(output).toBeGreaterThanOrEqual(SPOKEN)
  })

  it('events behind a usage of no known format', async () => {
    for (const write of [sse, lines]) {
      const body = write({ usage: usage({}) }, { text: LONG })
      expect((await readMetered(body)).usage.output).toBeGreaterThanOrEqual(SPOKEN)
    }
    const long = sse({ usage: usage({}) }, { sources: 'x '.repeat(33_000) })
    expect((await readMetered(long)).usage).toMatchObject({ source: 'counted', complete: false })
  })

  it('events of no known format beside one of a known format', async () => {
    const known = [{ type: 'ping' }, { choices: [{ delta: { content: 'Hello.' } }] }]
    for (const event of known) {
      const { output } = (await readMetered(sse(event, { text: LONG }, { text: LONG }))).usage
      expect(output).toBeGreaterThanOrEqual(SPOKEN * 2)
    }
  })

  it('short events before a long one, and the long one', async () => {
    const short = Array.from({ length: 100 }, () => ({ text: LONG }))
    const sources = 'x '.repeat(33_000)
    const { output } = (await readMetered(sse(...short, { sources }))).usage
    expect(output).toBeGreaterThanOrEqual(SPOKEN * 100 + estimateTokens(sources))
  })

  it('broken events among others', async () => {
    const body = recorded.CHAT_SSE_WITHOUT_USAGE.replaceAll(
      'data: ',
      `data: {"a": ${LONG}\n\ndata: `,
    )
    const { output, complete } = (await readMetered(body)).usage
    expect(complete).toBe(false)
    expect(output).toBeGreaterThanOrEqual(SPOKEN * 12 + estimateTokens(recorded.SAID))
  })
})

describe('lines of JSON', () => {
  it('are read like events', async () => {
    expect((await readMetered(CHUNKS)).usage).toMatchObject({
      model: 'm',
      input: 9,
      output: 4,
      source: 'provider',
      complete: true,
    })
    const messages = recorded.MESSAGES_SSE.replaceAll(/^(?:event.*|data: |)\n?/gm, '')
    expect((await readMetered(messages)).usage).toMatchObject({ input: 1_204, output: 310 })
  })

  it('are complete if they say so, and incomplete if the last one breaks off', async () => {
    expect((await readMetered(OLLAMA)).usage.complete).toBe(false)
    const source = sourceOf([bytesOf(OLLAMA.slice(0, OLLAMA.indexOf('\n') + 1))], 'open')
    const book = ledger()
    const reader = meterStream(source.stream, { settle: book.settle }).getReader()
    await reader.read()
    await reader.cancel()
    expect(book.usages).toMatchObject([{ model: 'llama', complete: false }])
  })
})

describe('complete JSON', () => {
  it('is complete even for a client that does not wait for the close', async () => {
    const book = ledger()
    const source = sourceOf([bytesOf(JSON.stringify(recorded.CHAT_JSON))], 'open')
    const reader = meterStream(source.stream, { settle: book.settle }).getReader()
    await reader.read()
    await reader.cancel()
    expect(book.usages).toMatchObject([{ output: 310, source: 'provider', complete: true }])
  })
})

describe('a usage without output tokens', () => {
  it.each<[string, unknown]>([
    ['empty', {}],
    ['unknown', { billed_units: { output_tokens: 5 } }],
    ['of zeros', usage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })],
    ['of no output', usage({ completion_tokens: 0, total_tokens: 9 })],
    ['negative', usage({ prompt_tokens: -3, completion_tokens: -100, total_tokens: -5 })],
    ['of no numbers', usage({ completion_tokens: 'many', total_tokens: null })],
    ['of nothing but a total', { total_tokens: 3 }],
  ])('lets the text be counted: %s', async (_, reported) => {
    for (const body of [
      JSON.stringify(answer(reported)),
      `${sse(answer(reported))}data: [DONE]\n\n`,
    ]) {
      const counted = { output: SPOKEN, source: 'counted', complete: false }
      expect((await readMetered(body)).usage).toMatchObject(counted)
    }
  })

  it('is ignored in JSON of no known format, too', async () => {
    const reported = [{ usage: {} }, { usage: { output_tokens: -1 } }, { usage: null }]
    const zeros = { usage: { input_tokens: 0, output_tokens: 0 } }
    for (const more of [...reported, zeros, { choices: [], usage: {} }]) {
      const { usage: found } = await readMetered({ message: { text: LONG }, ...more })
      expect(found).toMatchObject({ source: 'counted', complete: false })
      expect(found.output).toBeGreaterThanOrEqual(SPOKEN)
    }
  })

  it('is ignored in JSON that nests as deeply as it is long', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"content":', '}'],
    ] as const) {
      const deep = `${open.repeat(5_000)}${JSON.stringify(LONG)}${close.repeat(5_000)}`
      const body = `data: {"choices":[{"delta":{"content":${deep}}}]}\n\n`
      const { output } = await usageOf([bytesOf(body)], 'text/event-stream')
      expect(output).toBeGreaterThanOrEqual(SPOKEN)
    }
  })

  it('is accepted for an answer without text', async () => {
    const data = [{ embedding: Array.from({ length: 500 }, (_, index) => index / 7) }]
    for (const reported of [
      { prompt_tokens: 8, total_tokens: 8 },
      { prompt_tokens: 8, completion_tokens: 0, total_tokens: 8 },
    ]) {
      const { usage: found } = await readMetered({ object: 'list', data, usage: reported })
      expect(found).toMatchObject({ input: 8, output: 0, source: 'provider', complete: true })
    }
  })

  it('does not replace the input that you know', async () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0 }
    expect((await readMetered(answer(zeros), { inputTokens: 77 })).usage.input).toBe(77)
  })
})
