/** The JSON value of a body, or the status of the refusal. */
export type JsonBody = { readonly value: unknown } | { readonly status: 400 | 413 }

/** A chat with tools has about eight levels. A very deep value would overflow the stack of readers. */
const MAX_DEPTH = 32

/** Reads a JSON body, and stops reading after `maxBytes`. */
export async function readJson(request: Request, maxBytes: number): Promise<JsonBody> {
  const text = await readText(request, maxBytes)
  if (text === undefined) return { status: 413 }
  try {
    const value: unknown = JSON.parse(text)
    return isDeeperThan(value, MAX_DEPTH) ? { status: 400 } : { value }
  } catch {
    return { status: 400 }
  }
}

async function readText({ headers, body }: Request, maxBytes: number): Promise<string | undefined> {
  if (Number(headers.get('content-length') ?? 0) > maxBytes) {
    await body?.cancel()
    return undefined
  }
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  const reader = body?.getReader()
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    bytes += read.value.length
    if (bytes > maxBytes) {
      await reader?.cancel()
      return undefined
    }
    text += decoder.decode(read.value, { stream: true })
  }
  return text + decoder.decode()
}

/** Checks the depth level by level, because recursion would overflow the stack. */
function isDeeperThan(value: unknown, levels: number): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > levels) return true
    level = level.flatMap((item): unknown[] =>
      typeof item === 'object' && item !== null ? Object.values(item) : [],
    )
  }
  return false
}
