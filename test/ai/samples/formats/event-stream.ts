import { crc32 } from 'node:zlib'

/*
 * The binary encoding of an event stream.
 * https://docs.aws.amazon.com/lexv2/latest/dg/event-stream-encoding.html
 */
export const EVENT_STREAM_TYPE = 'application/vnd.amazon.eventstream'

type Headers = Readonly<Record<string, string>>

/**
 * Encodes one message: prelude, headers, payload and both checksums.
 *
 * @param lengths Those to announce, if they are to be wrong.
 */
export function message(
  payload: string,
  headers: Headers | Buffer,
  lengths?: { readonly total: number; readonly headers: number },
): Buffer<ArrayBuffer> {
  const headerBytes = Buffer.isBuffer(headers)
    ? headers
    : Buffer.concat(Object.entries(headers).map(header))
  const body = Buffer.from(payload)
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(lengths?.total ?? 16 + headerBytes.length + body.length, 0)
  prelude.writeUInt32BE(lengths?.headers ?? headerBytes.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const bytes = Buffer.concat([prelude, headerBytes, body])
  const checksum = Buffer.alloc(4)
  checksum.writeUInt32BE(crc32(bytes))
  return Buffer.concat([bytes, checksum])
}

function header([name, value]: [string, string]): Buffer {
  const nameBytes = Buffer.from(name)
  const valueBytes = Buffer.from(value)
  // Type 7 is a string.
  const fields = Buffer.from([7, valueBytes.length >> 8, valueBytes.length & 255])
  return Buffer.concat([Buffer.from([nameBytes.length]), nameBytes, fields, valueBytes])
}

export const event = (type: string, payload: object): Buffer<ArrayBuffer> =>
  message(JSON.stringify(payload), {
    ':event-type': type,
    ':content-type': 'application/json',
    ':message-type': 'event',
  })

/** The event `chunk` of `InvokeModelWithResponseStream`. */
export const chunk = (data: object): Buffer<ArrayBuffer> =>
  event('chunk', {
    bytes: Buffer.from(JSON.stringify(data)).toString('base64'),
    p: 'abcdefghijkl',
  })

export const exception = (type: string, payload: object): Buffer<ArrayBuffer> =>
  message(JSON.stringify(payload), {
    ':exception-type': type,
    ':content-type': 'application/json',
    ':message-type': 'exception',
  })

export const stream = (...messages: readonly Buffer[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.concat(messages))
