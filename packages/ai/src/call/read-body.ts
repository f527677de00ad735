import { readChunks } from '@sluice/core/internal/http'
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
  return parsed(await readText(source, maxBytes, bodyScan()))
}

/** Reads a text of at most so many bytes. Throws what `see` throws. @throws InputError `body_too_large` */
export async function readText(
  source: Request | Response,
  maxBytes: number,
  see?: (chunk: Uint8Array) => void,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  await readChunks(source, maxBytes, (chunk) => {
    see?.(chunk)
    text += decoder.decode(chunk, { stream: true })
  })
  return text + decoder.decode()
}
