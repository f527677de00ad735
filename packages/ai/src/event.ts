import { readEvent, readLongEvent } from './formats.ts'
import { jsonScan, type JsonScan } from './json-scan.ts'
import type { Tally } from './tally.ts'
import { isObject } from './json.ts'
import type { TokenCounter } from './tokens.ts'

/** An event longer than this is not kept: 64 KiB, which only one that repeats a whole answer is. */
const MAX_EVENT = 65_536

/** Reads one event after the other, each in pieces: keeps it, or scans it while it passes. */
export interface EventReader {
  add(text: string): void
  end(): void
}

export function eventReader(tally: Tally): EventReader {
  let kept = ''
  let long: { readonly scan: JsonScan; readonly counter: TokenCounter } | undefined
  let type = ''
  let hasUsage = false
  let hasBegun = false

  function usageScan(): JsonScan {
    // In no known format, a usage does not speak of what follows it.
    tally.hasMore ||= hasUsage
    return jsonScan((name, json) => {
      const value = parsed(json)
      if (name === '"model"') tally.named(value)
      else if (name === '"type"') type = String(value)
      else {
        tally.reported(value, true)
        hasUsage = tally.isFinal
      }
    })
  }

  function read(text: string): void {
    // Text may begin so, too; it ends only what has begun, or told its usage.
    if (text === '[DONE]' && (hasBegun || hasUsage)) {
      tally.ended = true
      return
    }
    const event = parsed(text)
    if (isObject(event) && readEvent(event, tally)) tally.isUnderstood = hasBegun = true
    else {
      usageScan().push(text)
      tally.raw(text)
    }
  }

  return {
    add(text) {
      if (tally.ended) return
      kept += text
      if (long === undefined && kept.length <= MAX_EVENT) return
      long ??= { scan: usageScan(), counter: tally.counter() }
      const piece = kept
      kept = ''
      long.scan.push(piece)
      long.counter.add(piece)
    },
    end() {
      try {
        if (long === undefined) read(kept)
        else {
          readLongEvent(type, long.counter.tokens, tally)
          hasBegun = true
        }
      } finally {
        // Also where a counter throws: it is to spoil no other event.
        kept = type = ''
        long = undefined
      }
    },
  }
}

/** The value of a JSON text; `undefined` of one that is none. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
