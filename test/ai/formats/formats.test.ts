import { estimateTokens, meterStream, type Usage } from '@sluice/ai'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as recorded from '../recordings.ts'
import { bytesOf, ledger, readMetered, sourceOf } from '../support.ts'

const OPENAI: Usage = {
  model: 'gpt-4o-2024-08-06',
  input: 1_204,
  cachedInput: 1_024,
  cacheWrite: 0,
  longCacheWrite: 0,
  output: 310,
  source: 'provider',
  complete: true,
}
/** The recorded answer that is no stream names its service tier. */
const OPENAI_JSON: Usage = { ...OPENAI, tier: 'default' }
const RESPONSES: Usage = { ...OPENAI, model: 'gpt-5.6-terra', cacheWrite: 100 }
const ANTHROPIC: Usage = {
  ...OPENAI,
  model: 'claude-opus-4-5-20251101',
  cacheWrite: 100,
  longCacheWrite: 60,
}
const said = estimateTokens(recorded.SAID)

const lines = (body: string, end: string): string => body.replaceAll('\n', end)

const ANSWERS: Readonly<Record<string, readonly [string | object, Usage]>> = {
  'chat completions, JSON': [recorded.CHAT_JSON, OPENAI_JSON],
  'chat completions, stream': [recorded.CHAT_SSE, OPENAI],
  'responses, JSON': [recorded.RESPONSES_JSON, RESPONSES],
  'responses, stream': [recorded.responsesSse(), RESPONSES],
  'responses, incomplete': [recorded.responsesSse('incomplete'), RESPONSES],
  'responses, failed': [recorded.responsesSse('failed'), RESPONSES],
  'messages, JSON': [recorded.MESSAGES_JSON, ANTHROPIC],
  'messages, stream': [recorded.MESSAGES_SSE, ANTHROPIC],
  'chat completions, stream, no usage': [
    recorded.CHAT_SSE_WITHOUT_USAGE,
    { ...OPENAI, input: 77, cachedInput: 0, output: said, source: 'counted', complete: false },
  ],
}

describe('the usage of an answer', () => {
  it.each(Object.entries(ANSWERS))('is taken from the provider: %s', async (_, [body, usage]) => {
    const known = { inputTokens: 77 }
    expect((await readMetered(body, known)).usage).toEqual(usage)
    const sse = { 'content-type': 'text/event-stream; charset=utf-8' }
    const headers = typeof body === 'string' ? sse : { 'content-type': 'application/json' }
    expect((await readMetered(body, known, headers)).usage).toEqual(usage)
  })

  it('is read by the first bytes of the answer, whatever its content-type', async () => {
    const text = { 'content-type': 'text/plain' }
    expect((await readMetered(recorded.MESSAGES_SSE, {}, text)).usage).toEqual(ANTHROPIC)
    expect((await readMetered(recorded.CHAT_JSON, {}, text)).usage).toEqual(OPENAI_JSON)
    const indented = ` \n\t${JSON.stringify(recorded.CHAT_JSON, null, 2)}\n`
    expect((await readMetered(indented, {}, text)).usage).toEqual(OPENAI_JSON)
    expect((await readMetered(`\uFEFF${recorded.CHAT_SSE}`, {}, text)).usage).toEqual(OPENAI)
    const json = { 'content-type': 'application/json' }
    expect((await readMetered(recorded.CHAT_SSE, {}, json)).usage).toEqual(OPENAI)
  })

  const VARIANTS: Readonly<Record<string, (body: string) => string>> = {
    'CRLF at line ends': (body) => lines(body, '\r\n'),
    'CR at line ends': (body) => lines(body, '\r'),
    'no blank after the colon': (body) => body.replaceAll('data: ', 'data:'),
    comments: (body) => `: hello\n\n${body.replaceAll('\n\n', '\n\n: ping\n\n')}`,
    'ids and retry times': (body) => body.replaceAll('data: ', 'id: 7\nretry: 100\ndata: '),
    'data over several lines': (body) => body.replaceAll(',"', ',\ndata: "'),
    'no final newline': (body) => body.trimEnd(),
    'blank lines at the beginning': (body) => `\n\n${body}`,
    'events without data among the others': (body) =>
      body.replaceAll('data: ', 'id: 8\n\ndata:\n\ndata\n\ndata: '),
    'fields that are not known': (body) =>
      body.replaceAll('\ndata: ', '\ndatum: {}\nDATA: {}\ndata: '),
  }
  const STREAMS = Object.entries(ANSWERS).filter(([, [body]]) => typeof body === 'string')

  it.each(Object.entries(VARIANTS))('is the same with %s', async (_, vary) => {
    for (const [, [body, usage]] of STREAMS) {
      const varied = vary(body as string)
      expect((await readMetered(varied, { inputTokens: 77 })).usage).toEqual(usage)
      const sse = { 'content-type': 'text/event-stream' }
      expect((await readMetered(varied, { inputTokens: 77 }, sse)).usage).toEqual(usage)
    }
  })

  it('is the same with broken events in between', async () => {
    for (const [, [body, usage]] of STREAMS.filter(([, [, { source }]]) => source === 'provider')) {
      const broken = 'data: {"choices":[{"delta"\n\ndata: 5\n\ndata: '
      const { usage: found } = await readMetered((body as string).replaceAll('data: ', broken))
      expect(found).toEqual(usage)
    }
  })

  it('is the same, as are the bytes, wherever the chunks are cut', async () => {
    const answers = Object.values(ANSWERS)
    const body = fc.nat(answers.length - 1)
    const vary = fc.constantFrom((text: string) => text, ...Object.values(VARIANTS))
    const places = fc.array(fc.nat(9_000), { maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(body, vary, places, async (index, variant, cuts) => {
        const [answer, usage] = answers[index] ?? ['', OPENAI]
        const text = typeof answer === 'string' ? variant(answer) : JSON.stringify(answer)
        const bytes = bytesOf(text)
        const at = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b)]
        const chunks = at.map((from, piece) => bytes.slice(from, at[piece + 1]))
        const book = ledger()
        const options = { settle: book.settle, inputTokens: 77 }
        const passed = await new Response(meterStream(sourceOf(chunks).stream, options)).bytes()
        expect(passed).toEqual(bytes)
        expect(book.usages).toEqual([usage])
      }),
      { numRuns: 200 },
    )
  })

  it('is the same when the answer arrives byte by byte', async () => {
    for (const [body, usage] of Object.values(ANSWERS)) {
      const bytes = bytesOf(typeof body === 'string' ? body : JSON.stringify(body))
      const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte))
      const book = ledger()
      const options = { settle: book.settle, inputTokens: 77 }
      const passed = await new Response(meterStream(sourceOf(chunks).stream, options)).bytes()
      expect(passed).toEqual(bytes)
      expect(book.usages).toEqual([usage])
    }
  })
})

describe('an answer without a usage', () => {
  it('is counted with the names and arguments of its tool calls', async () => {
    const { usage } = await readMetered(recorded.CHAT_TOOLS_SSE)
    const text = 'get_weather{"place":"Utrecht","days":2}'
    expect(usage).toMatchObject({
      output: estimateTokens(text),
      source: 'counted',
      complete: false,
    })
  })

  it('is counted by your own counter', async () => {
    const { usage } = await readMetered(recorded.CHAT_SSE_WITHOUT_USAGE, {
      count: (text) => text.length,
    })
    expect(usage.output).toBe(recorded.SAID.length)
  })

  it('is counted by its deltas if it is a stream for a user interface', async () => {
    const body = recorded.TEXTS.map(
      (delta) => `data: ${JSON.stringify({ type: 'text-delta', id: '0', delta })}\n\n`,
    ).join('')
    const { usage } = await readMetered(`${body}data: [DONE]\n\n`)
    expect(usage).toMatchObject({ output: said, source: 'counted', complete: false })
  })

  it.each([
    ['text', recorded.SAID.repeat(9)],
    ['events of an unknown format', `data: {"candidates":[{"text":"${recorded.SAID}"}]}\n\n`],
    ['JSON without a usage', JSON.stringify({ answer: recorded.SAID })],
    ['a list', JSON.stringify([recorded.SAID])],
  ])('is counted if it has %s, at no less than its text', async (_, body) => {
    const { usage } = await readMetered(body)
    expect(usage.source).toBe('counted')
    expect(usage.output).toBeGreaterThanOrEqual(said)
  })

  it('is 0 if it is empty', async () => {
    const sse = { 'content-type': 'text/event-stream' }
    for (const body of ['', '\n\n', ': ping\n\n', 'event: ping\nid: 5\n\n']) {
      const { usage } = await readMetered(body, {}, sse)
      expect(usage).toMatchObject({ output: 0, source: 'counted' })
    }
  })

  it('is counted at 1.5 times the estimate for Claude', async () => {
    const body = `${recorded.MESSAGES_EVENTS.join('')}event: message_stop\ndata: {"type":"message_stop"}\n\n`
    const { usage } = await readMetered(body)
    const text = `Why is it blue at all?${recorded.SAID}`
    expect(usage).toMatchObject({ input: 1_204, source: 'counted', complete: false })
    expect(usage.output).toBe(Math.ceil(estimateTokens(text) * 1.5))
  })
})
