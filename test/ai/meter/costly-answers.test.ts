import { limitedFetch, type Usage } from '@sluice/ai'
import * as formats from '@sluice/ai/formats'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { handlerOf, limiterOf, post, PRICES, QUESTION, subject } from '../doors.ts'
import { CHAT_USAGE } from '../recordings.ts'
import { bytesOf } from '../support.ts'

afterEach(() => void vi.restoreAllMocks())

/** The longest line that is held back, in bytes. */
const MAX_LINE = 65_536
const LENGTH = 2 * MAX_LINE
const SIZES = [1_000, 16_384]

const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"'

/** Answers that would be costly to read: how each begins, and what it repeats. */
const ANSWERS: Readonly<Record<string, readonly [type: string, start: string, part: string]>> = {
  'a line of text': ['text/event-stream', EVENT, 'a'],
  'a line of brackets': ['text/event-stream', 'data: ', '['],
  'a line of names': ['text/event-stream', 'data: {"choices":[]', ',"usage":0'],
  'line feeds': ['text/event-stream', '', '\n'],
  'carriage returns': ['text/event-stream', '', '\r'],
  'events that say nothing': ['text/event-stream', '', 'data: {}\n\n'],
  'a text in JSON': ['application/json', '{"choices":[{"message":{"content":"', 'a'],
  'brackets in JSON': ['application/json', '', '['],
  'objects in JSON': ['application/json', '', '{"usage":'],
  'a number with a long name': ['application/json', `{"${'n'.repeat(16_000)}":`, '1'],
  'a name without an end': ['application/json', '{"', 'n'],
  'a list of objects in JSON': ['application/json', '[', '{"a":['],
  'values without an end': ['application/json', '', '{}'],
}

/** Each door in front of a provider that answers this. */
const DOORS = {
  modelHandler: (answer: () => Response, onUsage: (usage: Usage) => void) => {
    const { handle } = handlerOf(answer, { onUsage })
    return (body: object) => handle(post(body))
  },
  'modelHandler with every format': (answer: () => Response, onUsage: (usage: Usage) => void) => {
    const { handle } = handlerOf(answer, { onUsage, formats: Object.values(formats) })
    return (body: object) => handle(post(body))
  },
  limitedFetch: (answer: () => Response, onUsage: (usage: Usage) => void) => {
    const fetch = async () => answer()
    const send = limitedFetch(limiterOf(), { subject: subject(), prices: PRICES, fetch, onUsage })
    const url = 'https://api.openai.com/v1/chat/completions'
    return (body: object) => send(url, { method: 'POST', body: JSON.stringify(body) })
  },
}

/** A source of these bytes in chunks of a size, which counts what it gave. */
function inChunks(bytes: Uint8Array, size: number) {
  let given = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (given === bytes.length) {
          controller.close()
          return
        }
        const chunk = bytes.slice(given, given + size)
        given += chunk.length
        controller.enqueue(chunk)
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, given: () => given }
}

/** Counts the characters that are decoded, searched, split and joined from now on. */
function countCharacters(): () => number {
  let characters = 0
  function count(
    holder: object,
    name: string,
    lengthOf: (self: unknown, first: unknown) => number,
  ) {
    const methods = holder as Record<string, (...args: unknown[]) => unknown>
    const original = methods[name] as (...args: unknown[]) => unknown
    vi.spyOn(methods, name).mockImplementation(function (this: unknown, ...args) {
      characters += lengthOf(this, args[0])
      return original.apply(this, args)
    })
  }
  count(
    TextDecoder.prototype,
    'decode',
    (_, chunk) => (chunk as Uint8Array | undefined)?.length ?? 0,
  )
  count(RegExp.prototype, 'test', (pattern, text) =>
    // One character is looked at.
    (pattern as RegExp).source.startsWith('^[') ? 1 : String(text).length,
  )
  for (const name of ['split', 'replace', 'includes']) {
    count(String.prototype, name, (text) => String(text).length)
  }
  // Paths of members, of which the first name may be long.
  count(Array.prototype, 'join', (list) => String((list as unknown[])[0]).length)
  return () => characters
}

const cells = Object.keys(DOORS).flatMap((door) =>
  Object.keys(ANSWERS).flatMap((answer) => SIZES.map((size) => ({ door, answer, size }))),
)

describe('an answer that is costly to read', () => {
  it.each(cells)(
    'passes at once, each byte read 24 times at most: $answer, $door, chunks of $size bytes',
    async ({ door, answer, size }) => {
      const [type, start, part] = ANSWERS[answer] as readonly [string, string, string]
      const bytes = bytesOf(start + part.repeat(LENGTH / part.length))
      const source = inChunks(bytes, size)
      const respond = () => new Response(source.stream, { headers: { 'content-type': type } })
      const call = DOORS[door as keyof typeof DOORS](respond, () => undefined)
      const response = await call({ ...QUESTION, stream: type !== 'application/json' })
      const read = countCharacters()

      const passed: Uint8Array[] = []
      let length = 0
      let ahead = 0
      for await (const chunk of response.body as ReadableStream<Uint8Array>) {
        passed.push(chunk)
        length += chunk.length
        ahead = Math.max(ahead, source.given() - length)
      }
      const characters = read()
      vi.restoreAllMocks()
      expect(Buffer.compare(Buffer.concat(passed), bytes)).toBe(0)
      // A chunk may be held by the response in between.
      expect(ahead).toBeLessThanOrEqual(MAX_LINE + 3 * size)
      expect(characters).toBeLessThanOrEqual(24 * LENGTH)
    },
  )

  it.each(SIZES.concat(100, 100_000))(
    'passes unchanged with its usage in a line of more than 64 KiB, or without, and is charged: %d bytes',
    async (size) => {
      const start = `${EVENT}${'a'.repeat(MAX_LINE)}"}}]}\n\n`
      const usage = JSON.stringify({ choices: [], usage: CHAT_USAGE })
      const told = `data: ${' '.repeat(MAX_LINE)}${usage}\n\n`
      for (const [name, open] of Object.entries(DOORS)) {
        const usages: Usage[] = []
        const { stream } = inChunks(bytesOf(start + told), size)
        const call = open(
          () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
          (one) => usages.push(one),
        )
        const body = await (await call({ ...QUESTION, stream: true })).text()
        expect([name, [start, start + told].includes(body)]).toEqual([name, true])
        await expect
          .poll(() => usages)
          .toMatchObject([{ output: CHAT_USAGE.completion_tokens, complete: true }])
      }
    },
  )
})
