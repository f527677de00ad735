import type { StreamWatcher } from '@sluice/core/internal/http'
import { MAX_EVENT } from '../meter/event.ts'

/** A member that says nothing. In a string its quotes would have a backslash before them. */
const EMPTY_USAGE = /,\s*"usage"\s*:\s*null(?=\s*[,}])/

/** A chunk without choices that has a usage. */
const USAGE_CHUNK = /^data:(?=.*"choices"\s*:\s*\[\s*\]).*"usage"\s*:\s*\{/

const NAME: Uint8Array = /* @__PURE__ */ new TextEncoder().encode('"usage"')
const LF = 10
const CR = 13

/**
 * Takes out of a stream of chat completions what `include_usage` adds: a last chunk without choices, and a
 * `usage` of `null` in each other. A client that did not ask for it may read a choice of every chunk. Each byte is
 * looked at once, and held back until its line ends. A line of more than 64 KiB passes as it is.
 * https://developers.openai.com/api/reference/resources/chat/subresources/completions/streaming-events
 */
export function stripUsage(): NonNullable<StreamWatcher<Uint8Array>['filter']> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const encoder = new TextEncoder()
  /** The pieces of the current line that came in earlier chunks and are held back. */
  let held: Uint8Array[] = []
  /** The bytes of the current line in earlier chunks. */
  let lineBytes = 0
  /** The bytes of the name that the latest bytes match. */
  let matched = 0
  let hasUsage = false
  let isAfterReturn = false
  let isAfterUsage = false
  let isDropped = false

  /** Returns true for a line that is not passed on as it is. */
  const isChanged = (length: number): boolean =>
    length <= MAX_EVENT && (hasUsage || (isAfterUsage && length === 1))

  function strip(line: Uint8Array): Uint8Array {
    const isItsEnd = isAfterUsage && line.length === 1
    const text = decoder.decode(line)
    isAfterUsage = USAGE_CHUNK.test(text)
    isDropped = isItsEnd || isAfterUsage
    return encoder.encode(isDropped ? '' : text.replace(EMPTY_USAGE, ''))
  }

  return (next) => {
    const chunk = next ?? new Uint8Array(0)
    const passed: Uint8Array[] = []
    /** The bytes from here to `lineStart` pass as they are. */
    let from = 0
    let lineStart = 0

    /** Ends a line before `index`. */
    function endLine(index: number): void {
      if (isChanged(lineBytes + index - lineStart)) {
        const line = joined([...held, chunk.subarray(lineStart, index)])
        passed.push(chunk.subarray(from, lineStart), strip(line))
        from = index
      } else {
        passed.push(...held)
        isAfterUsage = isDropped = false
      }
      held = []
      lineBytes = 0
      lineStart = index
      hasUsage = false
      matched = 0
    }

    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index]
      if (byte === CR || (byte === LF && !isAfterReturn)) endLine(index + 1)
      else if (byte === LF) {
        // The second half of a line's end goes where the first went.
        if (isDropped) from = index + 1
        lineStart = index + 1
      } else if (byte === NAME[matched]) {
        matched += 1
        if (matched === NAME.length) {
          hasUsage = true
          matched = 0
        }
      } else matched = byte === NAME[0] ? 1 : 0
      isAfterReturn = byte === CR
    }
    if (next === undefined) endLine(0)
    passed.push(chunk.subarray(from, lineStart))
    if (lineStart < chunk.length) {
      held.push(chunk.subarray(lineStart))
      lineBytes += chunk.length - lineStart
      // Too long to be one of these.
      if (lineBytes > MAX_EVENT) passed.push(...held.splice(0))
    }
    const bytes = joined(passed)
    return bytes.length > 0 ? bytes : undefined
  }
}

/** Joins pieces of bytes. One that is all there is stays the same object. */
function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first = new Uint8Array(0), ...others] = pieces.filter((piece) => piece.length > 0)
  if (others.length === 0) return first
  const length = others.reduce((sum, piece) => sum + piece.length, first.length)
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of [first, ...others]) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
