const MAX_BODY_BYTES = 4_000_000

/** Reads a body as JSON: `undefined` if it is no JSON, `'too large'` if it is longer than `maxBytes`. */
export async function readBody(
  source: Request | Response,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<unknown> {
  if (Number(source.headers.get('content-length') ?? 0) > maxBytes) return 'too large'
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  const reader = source.body?.getReader()
  for (;;) {
    const chunk = await reader?.read()
    if (chunk === undefined || chunk.done) break
    length += chunk.value.byteLength
    if (length > maxBytes) {
      await reader?.cancel()
      return 'too large'
    }
    text += decoder.decode(chunk.value, { stream: true })
  }
  try {
    return JSON.parse(text + decoder.decode()) as unknown
  } catch {
    return undefined
  }
}
