import type { StreamWatcher } from '@sluice/core/internal/http'

/** The most of a line that is held back, in characters. */
const MAX_HELD = 65_536

/** A member that says nothing. In a string its quotes would have a backslash before them. */
const EMPTY_USAGE = /,\s*"usage"\s*:\s*null(?=\s*[,}])/

/** A chunk without choices that has a usage, as a whole line. */
const USAGE_CHUNK = /^data:(?=.*"choices"\s*:\s*\[\s*\]).*"usage"\s*:\s*\{.*[\n\r]/

/**
 * Takes out of a stream of chat completions what `include_usage` adds: a last chunk without choices, and a
 * `usage` of `null` in each other. A client that did not ask for it may read a choice of every chunk. A line is
 * held back until it ends, or up to 64 KiB of it, and searched once: what is longer passes in pieces.
 * https://developers.openai.com/api/reference/resources/chat/subresources/completions/streaming-events
 */
export function stripUsage(): NonNullable<StreamWatcher<Uint8Array>['filter']> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** The beginning of a line. It is searched with its end, so that adding to it takes no time. */
  let held = ''
  let isAfterUsage = false

  return (chunk) => {
    const text = decoder.decode(chunk, { stream: !!chunk })
    const lines = text.split(/(?<=[\n\r])/)
    const isCut = chunk && held.length < MAX_HELD && !/[\n\r]$/.test(text)
    lines[0] = held + lines[0]
    held = isCut ? (lines.pop() as string) : ''
    let rest = ''
    for (const line of lines) {
      // Also the blank line after the chunk, of which CRLF makes two.
      isAfterUsage = USAGE_CHUNK.test(line) || (isAfterUsage && line.trim() === '')
      if (!isAfterUsage) rest += line.replace(EMPTY_USAGE, '')
    }
    return rest === '' ? undefined : new TextEncoder().encode(rest)
  }
}
