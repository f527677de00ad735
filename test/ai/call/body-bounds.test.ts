import { modelHandler } from '@sluice/ai'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limiterOf, post, PRICES, subject } from '../doors.ts'
import { bytesOf } from '../support.ts'

/** The status of a body that comes in these chunks, where every model call is answered with 200. */
async function statusOf(chunks: readonly Uint8Array[], api = 'openai-chat'): Promise<number> {
  const options = { subject, prices: PRICES, api }
  const handle = modelHandler(limiterOf(), options as never, () => Response.json({}))
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  return (await handle(post('', { body, duplex: 'half' } as RequestInit))).status
}

const cut = (text: string, size: number): Uint8Array[] => {
  const bytes = bytesOf(text)
  const chunks: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size))
  return chunks
}

const chat = (content: unknown): string =>
  JSON.stringify({ model: 'gpt-4o', max_tokens: 1, messages: [{ role: 'user', content }] })

const nested = (levels: number): string =>
  `{"model":"gpt-4o","max_tokens":1,"messages":[{}],"response_format":${'['.repeat(levels)}${']'.repeat(levels)}}`

describe('a body', () => {
  it('may nest 128 levels deep, and no deeper', async () => {
    expect(await statusOf([bytesOf(nested(127))])).toBe(200)
    expect(await statusOf([bytesOf(nested(128))])).toBe(400)
  })

  it.each([
    ['brackets', '[{'.repeat(5_000)],
    ['marks of values', ',:'.repeat(200_000)],
    ['quotes', '"[['.repeat(5_000)],
    ['backslashes at its end', '[[['.repeat(100) + '\\'.repeat(7)],
    ['characters of other scripts', '的[“”é𓂀['.repeat(1_000)],
  ])('may have a text full of %s, wherever it is cut', async (_, text) => {
    for (const size of [1, 2, 3, 7, 4_096, 4_000_000]) {
      if (size < 10 && text.length > 20_000) continue
      expect(await statusOf(cut(chat(text), size))).toBe(200)
    }
  })

  it('is refused for its depth wherever it is cut, and whatever text is before it', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    const property = fc.asyncProperty(
      text,
      fc.integer({ min: 1, max: 300 }),
      async (before, size) => {
        const deep = `{"user":${JSON.stringify(`${before}\\"`)},${nested(128).slice(1)}`
        expect(await statusOf(cut(deep, size))).toBe(400)
        expect(await statusOf(cut(deep.replace('[[', '').replace(']]', ''), size))).toBe(200)
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  it('may have 300,000 token numbers in 2,048 lists, the most that OpenAI embeds at once', async () => {
    const lists = Array.from({ length: 2_048 }, () => Array.from({ length: 146 }, () => 12_345))
    const body = { model: 'gpt-4o', input: lists }
    expect(await statusOf([bytesOf(JSON.stringify(body))], 'openai-embeddings')).toBe(200)
  })

  it('may have 20,000 messages with parts', async () => {
    const message = { role: 'user', content: [{ type: 'text', text: 'Why?' }] }
    const messages = Array.from({ length: 20_000 }, () => message)
    const body = { model: 'gpt-4o', max_tokens: 1, messages }
    expect(await statusOf([bytesOf(JSON.stringify(body))])).toBe(200)
  })

  it('may have 128 tools, each with a schema of 500 fields', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 166 }, (_, index) => [`field_${index}`, { type: 'string', minimum: 1 }]),
    )
    const parameters = { type: 'object', properties }
    const tool = { type: 'function', function: { name: 'look', parameters } }
    const body = { ...JSON.parse(chat('Why?')), tools: Array.from({ length: 128 }, () => tool) }
    expect(await statusOf([bytesOf(JSON.stringify(body))])).toBe(200)
  })
})
