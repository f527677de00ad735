import { InputError } from '@sluice/core'
import { parsed } from '../json.ts'
import { bodyScan } from './body-scan.ts'

const MAX_BODY_BYTES = 4_000_000

/**
 * Reads a body as JSON: `undefined` if it is invalid. A body that would be costly to parse is refused while it
 * is read.
 *
 * @throws InputError `body_too_large` when it is longer than `maxBytes`.
 * @throws InputError `invalid_body` when it nests too deeply or has too many values.
 */
export async function readBody(
  source: Request | Response,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<unknown> {
  const assertLength = (length: number): void => {
    if (length <= maxBytes) return
    throw new InputError('body_too_large', 'body', `must be at most ${maxBytes} bytes`)
  }
  assertLength(Number(source.headers.get('content-length') ?? 0))
  const scan = bodyScan()
  const text = await readText(source, (length, chunk) => {
    assertLength(length)
    scan(chunk)
  })
  return parsed(text)
}

/** Reads a text. Stops at what `check` throws, which gets the length so far and each chunk. */
export async function readText(
  source: Request | Response,
  check: (length: number, chunk: Uint8Array) => void,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  const reader = source.body?.getReader()
  for (;;) {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) break
    length += chunk.value.byteLength
    try {
      check(length, chunk.value)
    } catch (error) {
      // The rest is not waited for.
      void reader?.cancel().catch(() => undefined)
      throw error
    }
    text += decoder.decode(chunk.value, { stream: true })
  }
  return text + decoder.decode()
}
