import { readEvent } from './formats.ts'
import { jsonScan, type JsonScan } from './json-scan.ts'
import { sseReader } from './sse.ts'
import { isObject, type Tally } from './tally.ts'

/** Reads an answer, as text in pieces. */
export interface AnswerReader {
  push(text: string): void
  end(): void
}

/** How a line of server-sent events can begin. */
const SSE_STARTS = ['data', 'event', 'id', 'retry', ':']

/**
 * Reads whatever an answer is: JSON when it begins with `{` or `[`, server-sent events when it begins
 * like them or says so, else text. What is not understood is counted as it is: nothing is free.
 */
export function answerReader(tally: Tally, contentType: string): AnswerReader {
  let reader = contentType.includes('text/event-stream') ? sseAnswer(tally) : undefined
  let start = ''
  function choose(last: boolean): void {
    const text = start.trimStart()
    if (text === '') return
    if (text.startsWith('{') || text.startsWith('[')) reader = jsonAnswer(tally)
    else if (SSE_STARTS.some((name) => text.startsWith(name))) reader = sseAnswer(tally)
    else if (!last && SSE_STARTS.some((name) => name.startsWith(text))) return
    else reader = textAnswer(tally)
    reader.push(start)
    start = ''
  }
  return {
    push(text) {
      if (reader !== undefined) {
        reader.push(text)
        return
      }
      start += text
      // Blanks at the beginning say nothing, however many they are.
      if (start.length > 64 && start.trimStart() === '') start = ''
      choose(false)
    },
    end() {
      if (reader === undefined) choose(true)
      reader?.end()
    },
  }
}

function sseAnswer(tally: Tally): AnswerReader {
  let scan: JsonScan | undefined
  let type = ''
  return sseReader({
    event(data) {
      if (data === '[DONE]') {
        tally.end()
        return
      }
      const event = parsed(data)
      if (!isObject(event) || !readEvent(event, tally)) tally.raw(data)
    },
    piece(data) {
      scan ??= usageScan(tally, (name) => (type = name))
      scan.push(data)
      tally.piece(data)
    },
    // Of the events of a response that are that long, all but deltas repeat what has been said or asked.
    pieceEnd() {
      tally.pieceEnd(!type.startsWith('response.') || type.endsWith('.delta'))
      if (type.startsWith('response.') && tally.final) tally.end()
      scan = undefined
      type = ''
    },
  })
}

function jsonAnswer(tally: Tally): AnswerReader {
  const scan = usageScan(tally)
  return {
    push(text) {
      tally.raw(text)
      scan.push(text)
      if (scan.whole) tally.end()
    },
    end: () => undefined,
  }
}

function textAnswer(tally: Tally): AnswerReader {
  return { push: (text) => tally.raw(text), end: () => undefined }
}

/** Finds `usage`, `model` and `type`, in the answer itself or in the `response` that an event carries. */
function usageScan(tally: Tally, typed: (type: string) => void = () => undefined): JsonScan {
  return jsonScan(
    (name, parent) =>
      name === 'usage' || name === 'model'
        ? parent === undefined || parent === 'response'
        : name === 'type' && parent === undefined,
    (name, json) => {
      const value = parsed(json)
      if (name === 'usage') tally.reported(value, true)
      else if (name === 'model') tally.named(value)
      else typed(String(value))
    },
  )
}

/** The value of a JSON text; `undefined` of one that is none. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
