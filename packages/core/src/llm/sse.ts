/** What comes out of a stream of server-sent events. */
export interface SseSink {
  /** The data of an event. */
  event(data: string): void
  /** A part of an event's data that is too long to be kept whole. */
  piece(data: string): void
  /** The end of such data. */
  pieceEnd(): void
}

/** Data longer than this is handed on in pieces: 64 KiB, which only an event that repeats a whole answer is. */
const MAX_DATA = 65_536

/**
 * Reads server-sent events out of text that comes in pieces, in bounded memory. Lines may end in LF, CRLF
 * or CR; an event that is cut off at the end counts as one.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function sseReader(sink: SseSink): { push(text: string): void; end(): void } {
  let line = ''
  let data: string | undefined
  /** The line is longer than is kept, and whether it is data. */
  let long: 'data' | 'other' | undefined
  let inPieces = false
  let afterReturn = false

  function add(value: string): void {
    if (!inPieces) {
      const joined = data === undefined ? value : `${data}\n${value}`
      if (joined.length <= MAX_DATA) {
        data = joined
        return
      }
      inPieces = true
      data = undefined
      sink.piece(joined)
    } else sink.piece(value)
  }

  function dispatch(): void {
    if (inPieces) sink.pieceEnd()
    else if (data !== undefined) sink.event(data)
    data = undefined
    inPieces = false
  }

  function lineEnd(): void {
    if (long === undefined) {
      const value = valueOf(line)
      if (line === '') dispatch()
      else if (value !== undefined) add(value)
    }
    long = undefined
    line = ''
  }

  function part(text: string): void {
    if (long === 'data') sink.piece(text)
    else if (long === undefined) {
      line += text
      if (line.length > MAX_DATA) {
        const value = valueOf(line)
        long = value === undefined ? 'other' : 'data'
        line = ''
        if (value !== undefined) add(value)
        // A line that is just too long with its name in front: the rest may be too.
        if (value !== undefined && !inPieces) {
          inPieces = true
          sink.piece(data ?? '')
          data = undefined
        }
      }
    }
  }

  return {
    push(text) {
      let rest = afterReturn && text.startsWith('\n') ? text.slice(1) : text
      if (text !== '') afterReturn = text.endsWith('\r')
      if (rest.includes('\r')) rest = rest.replace(/\r\n?/g, '\n')
      let from = 0
      for (let at = rest.indexOf('\n'); at >= 0; at = rest.indexOf('\n', from)) {
        part(rest.slice(from, at))
        lineEnd()
        from = at + 1
      }
      part(rest.slice(from))
    },
    end() {
      lineEnd()
      dispatch()
    },
  }
}

/** The value of a line of data. */
function valueOf(text: string): string | undefined {
  if (text === 'data') return ''
  return text.startsWith('data:') ? text.slice(text[5] === ' ' ? 6 : 5) : undefined
}
