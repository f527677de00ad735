import { InputError } from '../../errors.ts'

/**
 * Reads a body in the chunks that it comes in, up to a length. An error of `see` is thrown once the rest has been
 * read, unseen: a server that leaves a body unread resets the connection, and the client loses its answer.
 *
 * @param maxBytes The longest body, in bytes.
 * @throws InputError `body_too_large` when it is longer, or its `Content-Length` says so.
 * @example
 * await readChunks(request.clone(), 4_000_000, (chunk) => scan.push(chunk))
 */
export async function readChunks(
  { body, headers }: Request | Response,
  maxBytes: number,
  see: (chunk: Uint8Array) => void,
): Promise<void> {
  const assertLength = (bytes: number): void => {
    if (bytes <= maxBytes) return
    throw new InputError('body_too_large', 'body', `must be at most ${maxBytes} bytes`)
  }
  assertLength(Number(headers.get('content-length') ?? 0))
  let length = 0
  let failure: { readonly error: unknown } | undefined
  const reader = body?.getReader()
  try {
    for (;;) {
      const chunk = await reader?.read()
      if (chunk === undefined || chunk.done) break
      length += chunk.value.byteLength
      assertLength(length)
      try {
        if (!failure) see(chunk.value)
      } catch (error) {
        failure = { error }
      }
    }
  } finally {
    // Not awaited: one copy of a stream is cancelled only when the other is, too.
    reader?.cancel().catch(() => undefined)
  }
  if (failure) throw failure.error
}
