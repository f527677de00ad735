/** Receives the data of events. */
export interface SseSink {
  /** A part of the data of an event. */
  add(text: string): void
  /** The end of an event. */
  end(): void
}

/** The beginning of a line that may still become data, or any field. */
const UNDECIDED = /^([\w-]{0,32}|data:)$/
const FIELD = /^[\w-]*:/

/**
 * Reads server-sent events out of text that comes in pieces, and keeps nothing but the beginning of a line.
 * Lines may end in LF, CRLF or CR; an event that is cut off at the end counts as one.
 *
 * @param other Gets what is no data: other fields and comments, and lines that are no field at all.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function sseReader(
  event: SseSink,
  other: (text: string, isField: boolean) => void,
): { push(text: string): void; end(): void } {
  let beginning = ''
  let kind: 'data' | 'field' | 'text' | undefined
  let hasData = false
  let afterReturn = false

  function put(text: string): void {
    if (kind === 'data') event.add(text)
    else other(text, kind === 'field')
  }

  function decide(): void {
    const isData = beginning === 'data' || beginning.startsWith('data:')
    kind = isData ? 'data' : FIELD.test(beginning) ? 'field' : 'text'
    if (isData && hasData) put('\n')
    hasData ||= isData
    put(isData ? beginning.slice(beginning[5] === ' ' ? 6 : 5) : beginning)
    beginning = ''
  }

  function part(text: string): void {
    if (kind !== undefined) {
      put(text)
      return
    }
    beginning += text
    if (!UNDECIDED.test(beginning)) decide()
  }

  function dispatch(): void {
    if (hasData) event.end()
    hasData = false
  }

  function lineEnd(): void {
    if (kind === undefined && beginning === '') dispatch()
    else {
      if (kind === undefined) decide()
      if (kind !== 'data') put('\n')
    }
    kind = undefined
  }

  return {
    push(text) {
      const rest = afterReturn && text.startsWith('\n') ? text.slice(1) : text
      if (text !== '') afterReturn = text.endsWith('\r')
      for (const [index, line] of rest.split(/\r\n?|\n/).entries()) {
        if (index > 0) lineEnd()
        if (line) part(line)
      }
    },
    end() {
      lineEnd()
      dispatch()
    },
  }
}
