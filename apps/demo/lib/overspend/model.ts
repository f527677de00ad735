import { LIST_PRICES, priceOf } from '@sluice/ai'
import { setTimeout as delay } from 'node:timers/promises'
import { asStream } from '../model/stand-in'
import type { Call } from './calls'

const MODEL = 'claude-opus-4-5'
const EVENTS = 4
const EVENT_MS = 20

/** Returns the price of so many tokens in micro-dollars. */
export const costOf = (input: number, output: number): number =>
  priceOf({ input, output }, MODEL, LIST_PRICES)

/** The price of a million tokens of output, in micro-dollars. */
export const OUTPUT_RATE = costOf(0, 1_000_000)

/** Counts tokens as this model does, which writes a word for each. */
export const countWords = (text: string): number => text.split(' ').length - 1

/** An answer, and the provider's bill for it. */
interface Answer {
  readonly response: Response
  /** Returns the micro-dollars that are billed for what was written so far. */
  readonly billed: () => number
}

/**
 * Answers like the demo's stand-in, but faster, and with the usage of the call: at most `maxTokens` of
 * output. Writing stops when the reader cancels. If the holder is lost, nobody cancels, and the whole
 * answer is billed.
 */
export function answer({ input, output, fate }: Call, maxTokens: number): Answer {
  const tokens = Math.min(output, maxTokens)
  let written = 0
  async function* events(): AsyncGenerator<string> {
    for (let index = 1; index <= EVENTS; index += 1) {
      await delay(EVENT_MS)
      const before = written
      written = Math.ceil((tokens * index) / EVENTS)
      yield event([{ index: 0, delta: { content: 'word '.repeat(written - before) } }])
    }
    yield event([], { prompt_tokens: input, completion_tokens: tokens })
    yield 'data: [DONE]\n\n'
  }
  const headers = { 'content-type': 'text/event-stream' }
  return {
    response: new Response(asStream(events()), { headers }),
    billed: () => costOf(input, fate === 'lost' ? tokens : written),
  }
}

const event = (choices: readonly object[], usage: object | null = null): string =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices, usage })}\n\n`
