import { crc32 } from './crc32.ts'
import { bytesMember, textDecoder } from './event-payload.ts'
import type { AnswerDecoder } from './format.ts'

/** The lengths of the message and its headers, and the checksum of both. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4

/** The most that the encoding allows. */
const MAX_HEADERS = 131_072
const MAX_MESSAGE = 25_165_824

/** The bytes of a header's value by its type; strings and byte arrays state their length. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16]

type Part = 'prelude' | 'headers' | 'payload' | 'checksum' | 'damaged'

/**
 * Decodes `application/vnd.amazon.eventstream` into one JSON object a line: `{"<event type>":<payload>}`, or
 * the bytes in it of a `chunk`. Nothing is allocated by a length that the stream states, payloads pass
 * in pieces, and the end of each is held back until its checksum is right.
 *
 * https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html
 */
export function eventStreamDecoder(): AnswerDecoder {
  const messages = new MessageReader()
  return (chunk) => (chunk === undefined ? messages.rest() : messages.push(chunk))
}

class MessageReader {
  #part: Part = 'prelude'
  /** The bytes so far of a part that is read whole. */
  #bytes: number[] = []
  /** The number of bytes of this part that are to come. */
  #left = PRELUDE_BYTES
  #payloadBytes = 0
  #crc = 0
  #decode: AnswerDecoder = textDecoder()
  /** The text that the payload is followed by. */
  #suffix = ''
  /** The last text of the message, which its checksum has yet to confirm. */
  #held = ''

  push(chunk: Uint8Array): string {
    let text = ''
    let at = 0
    while (at < chunk.length) {
      const piece = chunk.subarray(at, at + this.#left)
      at += piece.length
      this.#left -= piece.length
      if (this.#part === 'damaged') text += this.#decode(piece)
      else if (this.#part === 'payload') {
        this.#crc = crc32(piece, this.#crc)
        text += this.#hold(this.#decode(piece))
        if (this.#left === 0) this.#begin('checksum', CHECKSUM_BYTES)
      } else {
        for (const byte of piece) this.#bytes.push(byte)
        if (this.#left === 0) text += this.#read(this.#bytes)
      }
    }
    return text
  }

  /** Within a message, the answer was cut off: then the text is no complete value. */
  rest(): string {
    const isWhole = this.#part === 'prelude' && this.#bytes.length === 0
    return isWhole ? '' : `${this.#held.slice(0, -1)}{`
  }

  #begin(part: Part, length: number): void {
    this.#part = part
    this.#left = length
    this.#bytes = []
  }

  #hold(text: string): string {
    if (text === '') return ''
    const passed = this.#held
    this.#held = text
    return passed
  }

  /** Reads a part that is whole. */
  #read(bytes: readonly number[]): string {
    if (this.#part === 'prelude') return this.#readPrelude(bytes)
    if (this.#part === 'headers') {
      this.#crc = crc32(bytes, this.#crc)
      return this.#beginPayload(eventType(bytes))
    }
    if (uint32(bytes, 0) !== this.#crc) return this.#damaged(bytes)
    this.#begin('prelude', PRELUDE_BYTES)
    const rest = this.#held === '' ? '' : this.#held + this.#suffix
    this.#held = ''
    return rest
  }

  #readPrelude(bytes: readonly number[]): string {
    const headerBytes = uint32(bytes, 4)
    this.#payloadBytes = uint32(bytes, 0) - headerBytes - PRELUDE_BYTES - CHECKSUM_BYTES
    const isPossible =
      headerBytes <= MAX_HEADERS && this.#payloadBytes >= 0 && this.#payloadBytes <= MAX_MESSAGE
    if (!isPossible || crc32(bytes.slice(0, 8)) !== uint32(bytes, 8)) return this.#damaged(bytes)
    this.#crc = crc32(bytes)
    if (headerBytes === 0) return this.#beginPayload('')
    this.#begin('headers', headerBytes)
    return ''
  }

  #beginPayload(type: string): string {
    const isChunk = type === 'chunk'
    const prefix = isChunk ? '' : `{${JSON.stringify(type)}:`
    this.#decode = isChunk ? bytesMember() : textDecoder()
    this.#suffix = isChunk ? '\n' : '}\n'
    if (this.#payloadBytes > 0) {
      this.#begin('payload', this.#payloadBytes)
      return this.#hold(prefix)
    }
    this.#begin('checksum', CHECKSUM_BYTES)
    return this.#hold(isChunk ? '' : `${prefix}{}`)
  }

  /** Takes these bytes and all that follow for text. */
  #damaged(bytes: readonly number[]): string {
    this.#begin('damaged', Infinity)
    this.#decode = textDecoder()
    return this.#decode(Uint8Array.from(bytes))
  }
}

/** The value of the header `:event-type`, or of `:exception-type`. */
function eventType(headers: readonly number[]): string {
  const textAt = (from: number, length: number): string =>
    String.fromCharCode(...headers.slice(from, from + length))
  let type = ''
  let at = 0
  while (at < headers.length) {
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
