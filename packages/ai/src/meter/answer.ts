import { eventReader } from './event.ts'
import type { UsageFormat } from '../formats/format.ts'
import { jsonScan } from '../formats/json-scan.ts'
import { sseReader } from './sse.ts'
import type { UsageAccumulator } from './usage-accumulator.ts'

/** Reads an answer, as text in pieces. */
export interface AnswerReader {
  push(text: string): void
  /** @param closed Whether it was closed by its source. */
  end(closed: boolean): void
}

/** Matches how server-sent events begin, and what may yet become such an event. */
const SSE_START = /^(data|event|id|retry)?:/
const SSE_NAME = /^[a-z]{1,5}$/

/**
 * Reads an answer by how it begins: as JSON values, as server-sent events, otherwise as text. Anything else
 * after a JSON value is text, too. Input of no known format is counted as it is: nothing is free.
 */
export function answerReader(
  accumulator: UsageAccumulator,
  contentType: string,
  formats: readonly UsageFormat[],
): AnswerReader {
  const event = eventReader(accumulator, formats)
  const scan = jsonScan()
  const isLabelled = contentType.includes('text/event-stream')
  const other = accumulator.counter()
  const lines = sseReader(event, (text, isField) => {
    if (!isLabelled || !isField) other.add(text)
  })
  let kind: 'json' | 'events' | 'text' | undefined
  let values = 0
  let rest = ''

  function read(last: boolean): void {
    while (rest !== '' && !accumulator.ended) {
      if (kind === undefined) {
        // The beginning shows what there is to read.
        rest = rest.trimStart()
        if (/^[{[]/.test(rest)) {
          kind = 'json'
          values += 1
        } else if (values === 0 && SSE_START.test(rest)) kind = 'events'
        else if (rest !== '' && (last || values > 0 || !SSE_NAME.test(rest))) kind = 'text'
        else return
      }
      const text = rest
      rest = ''
      if (kind === 'text') {
        accumulator.addUnparsed(text)
        accumulator.hasMore = true
      } else if (kind === 'events') lines.push(text)
      else {
        const end = scan.push(text)
        event.add(text.slice(0, end))
        if (end === undefined) return
        kind = undefined
        rest = text.slice(end)
        event.end()
      }
    }
  }

  return {
    push(text) {
      rest += text
      read(false)
    },
    end(closed) {
      read(true)
      if (kind === 'json') {
        event.end()
        accumulator.hasMore = true
      } else if (kind === 'events') {
        lines.end()
        // It only looked like events: text may begin with `data:` or with a smiley.
        if (!accumulator.isKnown) accumulator.addTokens(other.tokens)
      }
      // One value that is whole may be all there is, or the first of many.
      else if (kind === undefined && values === 1)
        accumulator.ended ||= closed || accumulator.isFinal
    },
  }
}
