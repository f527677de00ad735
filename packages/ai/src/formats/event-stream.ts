import { crc32 } from './crc32.ts'
import type { AnswerDecoder } from './format.ts'

/** The lengths of the message and its headers, and the checksum of both. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4

/** The most that the encoding allows. */
const MAX_HEADERS = 131_072
const MAX_MESSAGE = 25_165_824

/** The bytes of a header's value by its type; strings and byte arrays tell their length. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16]

/**
 * Decodes `application/vnd.amazon.eventstream` into one JSON object a line: `{"<event type>":<payload>}`, or
 * the bytes in it of a `chunk`. Nothing is allocated by a length that the stream tells, payloads pass
 * in pieces, and the end of each is held back until its checksum is right.
 *
 * https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html
 */
export function eventStreamDecoder(): AnswerDecoder {
  let part: 'prelude' | 'headers' | 'payload' | 'checksum' | 'damaged' = 'prelude'
  /** The bytes so far of a part that is read whole, and the number of those of the current part to come. */
  let bytes: number[] = []
  let left = PRELUDE_BYTES
  let headerBytes = 0
  let payloadBytes = 0
  let crc = 0
  let decode: AnswerDecoder = textDecoder()
  let suffix = ''
  let held = ''

  function hold(text: string): string {
    if (text === '') return ''
    const passed = held
    held = text
    return passed
  }

  function begin(next: typeof part, length: number): void {
    part = next
    left = length
    bytes = []
  }

  /** Takes all that is left for text. */
  function damaged(read: readonly number[]): string {
    begin('damaged', Infinity)
    decode = textDecoder()
    return decode(Uint8Array.from(read))
  }

  /** Begins the payload of an event. */
  function payload(type: string): string {
    const isChunk = type === 'chunk'
    decode = isChunk ? bytesMember() : textDecoder()
    suffix = isChunk ? '\n' : '}\n'
    begin('payload', payloadBytes)
    const prefix = isChunk ? '' : `{${JSON.stringify(type)}:`
    if (payloadBytes > 0) return hold(prefix)
    begin('checksum', CHECKSUM_BYTES)
    return hold(isChunk ? '' : `${prefix}{}`)
  }

  /** Reads a part that is whole. */
  function step(): string {
    const read = bytes
    if (part === 'prelude') {
      const total = uint32(read, 0)
      headerBytes = uint32(read, 4)
      payloadBytes = total - headerBytes - PRELUDE_BYTES - CHECKSUM_BYTES
      const isSound = total <= MAX_MESSAGE && headerBytes <= MAX_HEADERS && payloadBytes >= 0
      if (!isSound || crc32(read.slice(0, 8)) !== uint32(read, 8)) return damaged(read)
      crc = crc32(read)
      if (headerBytes === 0) return payload('')
      begin('headers', headerBytes)
      return ''
    }
    if (part === 'headers') {
      crc = crc32(read, crc)
      return payload(eventType(read))
    }
    if (uint32(read, 0) !== crc) return damaged(read)
    begin('prelude', PRELUDE_BYTES)
    const rest = held === '' ? '' : held + suffix
    held = ''
    return rest
  }

  return (chunk) => {
    if (chunk === undefined) {
      // Within a message, the answer was cut off: the text is to be no complete value.
      return part === 'prelude' && bytes.length === 0 ? '' : `${held.slice(0, -1)}{`
    }
    let text = ''
    let at = 0
    while (at < chunk.length) {
      const piece = chunk.subarray(at, at + left)
      at += piece.length
      left -= piece.length
      if (part === 'damaged') text += decode(piece)
      else if (part === 'payload') {
        crc = crc32(piece, crc)
        text += hold(decode(piece))
        if (left === 0) begin('checksum', CHECKSUM_BYTES)
      } else {
        for (const byte of piece) bytes.push(byte)
        if (left === 0) text += step()
      }
    }
    return text
  }
}

function textDecoder(): AnswerDecoder {
  const text = new TextDecoder()
  return (chunk) => text.decode(chunk, { stream: chunk !== undefined })
}

/** Decodes the member `bytes` of a JSON object, which is base64. */
function bytesMember(): AnswerDecoder {
  const json = textDecoder()
  const text = textDecoder()
  let before = ''
  let base64 = ''
  let part: 'before' | 'within' | 'after' = 'before'
  return (chunk) => {
    let rest = json(chunk)
    if (part === 'after') return ''
    if (part === 'before') {
      before += rest
      const start = /"bytes"\s*:\s*"/.exec(before)
      if (start === null) {
        // What may yet become its name.
        before = before.slice(-32)
        return ''
      }
      part = 'within'
      rest = before.slice(start.index + start[0].length)
    }
    const end = rest.indexOf('"')
    if (end >= 0) part = 'after'
    base64 += end < 0 ? rest : rest.slice(0, end)
    const whole = base64.slice(0, base64.length - (base64.length % 4))
    base64 = base64.slice(whole.length)
    return text(fromBase64(whole))
  }
}

/** The bytes of base64; what is none stays as it is. */
function fromBase64(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new TextEncoder().encode(base64)
  }
}

/** The value of the header `:event-type`, or of `:exception-type`. */
function eventType(headers: readonly number[]): string {
  const textAt = (from: number, length: number): string =>
    String.fromCharCode(...headers.slice(from, from + length))
  let type = ''
  for (let at = 0; at < headers.length;) {
    const nameLength = headers[at] ?? 0
    const name = textAt(at + 1, nameLength)
    at += nameLength + 2
    let length = VALUE_BYTES[headers[at - 1] ?? 0]
    if (length === undefined) {
      length = (headers[at] ?? 0) * 256 + (headers[at + 1] ?? 0)
      at += 2
    }
    if (name === ':event-type' || name === ':exception-type') type = textAt(at, length)
    at += length
  }
  return type
}

function uint32(bytes: readonly number[], at: number): number {
  return bytes.slice(at, at + 4).reduce((number, byte) => number * 256 + byte, 0)
}
