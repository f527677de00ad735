import { readChunks } from '@sluice/core/internal/http'
import { invalidBody } from '../estimate/invalid-body.ts'
import { parseJson } from '@sluice/core/internal/limiter'

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
  return parseJson(await readText(source, maxBytes, bodyScan()))
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

/** Deeper than any schema, document or tool call nests. */
const MAX_DEPTH = 128

/** More than OpenAI takes as token numbers in one call: 300,000, in 2,048 lists. */
const MAX_VALUES = 400_000

/** Texts and the names of fields, which cost most to read: 20,000 messages with parts have as many. */
const MAX_STRINGS = 150_000

const QUOTE = 34
const BACKSLASH = 92

/**
 * Returns a function that takes the bytes of a JSON text as they come, and throws once they nest deeper, or
 * have more values, than a real call does: parsing such a body takes far more time and memory than sending it.
 *
 * @throws InputError `invalid_body`
 */
function bodyScan(): (chunk: Uint8Array) => void {
  let depth = 0
  let values = 0
  let strings = 0
  let inString = false
  let isEscaped = false

  return (chunk) => {
    // In UTF-8 no byte of a longer character is one of ASCII.
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index]
      if (inString) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) inString = false
      } else if (byte === QUOTE) {
        inString = true
        strings += 1
      } else if (byte === 44) values += 1
      else if (byte === 91 || byte === 123) {
        values += 1
        depth += 1
        if (depth > MAX_DEPTH) throw tooComplex()
      } else if (byte === 93 || byte === 125) depth -= 1
    }
    if (values > MAX_VALUES || strings > MAX_STRINGS) throw tooComplex()
  }
}

const tooComplex = (): Error =>
  invalidBody(
    `must hold at most ${MAX_VALUES} values, ${MAX_STRINGS} strings and ${MAX_DEPTH} levels`,
  )
