import type { StreamWatcher } from '@sluice/core/internal/http'

/** A member that says nothing. In a string its quotes would have a backslash before them. */
const EMPTY_USAGE = /,\s*"usage"\s*:\s*null(?=\s*[,}])/

/** A chunk without choices that has a usage. */
const USAGE_CHUNK = /^data:(?=.*"choices"\s*:\s*\[\s*\]).*"usage"\s*:\s*\{/

/**
 * Takes out of a stream of chat completions what `include_usage` adds: a last chunk without choices, and a
 * `usage` of `null` in each other. A client that did not ask for it may read a choice of every chunk.
 * https://developers.openai.com/api/reference/resources/chat/subresources/completions/streaming-events
 */
export function stripUsage(): NonNullable<StreamWatcher<Uint8Array>['filter']> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const encoder = new TextEncoder()
  let rest = ''
  let isAfterUsage = false

  function strip(line: string): string {
    const isItsEnd = isAfterUsage && line.trim() === ''
    isAfterUsage = USAGE_CHUNK.test(line)
    return isItsEnd || isAfterUsage ? '' : line.replace(EMPTY_USAGE, '')
  }
  return (chunk) => {
    // A line ends in LF, CRLF or CR. A CR at the end of a chunk may be the first half of CRLF.
    const lines = (rest + decoder.decode(chunk, { stream: !!chunk })).split(/(?<=\n|\r(?!\n|$))/)
    rest = chunk && !lines.at(-1)?.endsWith('\n') ? (lines.pop() as string) : ''
    const text = lines.map(strip).join('')
    return text === '' ? undefined : encoder.encode(text)
  }
}
