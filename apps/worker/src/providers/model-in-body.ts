/** The most bytes of a name. */
const MAX_NAME = 512

const [QUOTE, BACKSLASH, COLON, COMMA] = [34, 92, 58, 44]

/** The place of a name in the bytes of a body, with its quotes. */
interface Place {
  readonly name: string
  readonly start: number
  readonly end: number
}

/** A request of which the beginning was read, up to the name of its model. */
export interface NamedRequest {
  /** The name, if the body has one. */
  readonly model: string | undefined
  /** Returns the request as it was, or with another name of the model. To be called once. */
  send(model?: string): Request
}

/**
 * Reads a body until it names its model: which provider, and so which prices, decide about a call follows from it. The
 * body is not parsed, because its handler does that. A name that is written in an unusual way is not found, and a second
 * one is the handler's to judge, by the models of the provider.
 *
 * @param maxBytes The most bytes to read.
 */
export async function readModel(request: Request, maxBytes: number): Promise<NamedRequest> {
  const reader = request.body?.getReader()
  const chunks: Uint8Array[] = []
  const find = nameFinder()
  let place: Place | undefined
  let length = 0
  while (!place && length <= maxBytes) {
    const { value } = (await reader?.read()) ?? {}
    if (value === undefined) break
    chunks.push(value)
    length += value.byteLength
    place = find(value)
  }
  return {
    model: place?.name,
    send(model) {
      const isSame = !place || model === undefined || model === place.name
      const parts = isSame ? chunks : withPlace(chunks, place as Place, model)
      // Most bodies are one chunk: bytes cost less than a stream.
      const [whole] = parts
      const isWhole = parts.length === 1 && length === Number(request.headers.get('content-length'))
      const body = isWhole ? whole : reader ? streamOf(parts, reader) : null
      const { method, signal } = request
      // Node.js wants to hear that a stream is sent.
      return new Request(request, { method, body, signal, duplex: 'half' } as RequestInit)
    },
  }
}

/** Returns a function that takes the bytes of a body as they come, and returns the place of the name of its model. */
function nameFinder(): (chunk: Uint8Array) => Place | undefined {
  let at = -1
  let depth = 0
  let isString = false
  let isEscaped = false
  /** True behind the colon of a member. */
  let isValue = false
  let key: string | undefined
  let start = 0
  /** The bytes of a string that may be a key, or the name. */
  let text: number[] | undefined

  return (chunk) => {
    for (const byte of chunk) {
      at += 1
      if (isString) {
        if (text && text.length < MAX_NAME) text.push(byte)
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) {
          isString = false
          const told = text && parsed(text)
          if (text && !isValue) key = told
          else if (text && told !== undefined) return { name: told, start, end: at + 1 }
        }
      } else if (byte === QUOTE) {
        isString = true
        start = at
        text = depth === 1 && (!isValue || key === 'model') ? [byte] : undefined
      } else if (byte === 91 || byte === 123) depth += 1
      else if (byte === 93 || byte === 125) depth -= 1
      else if (depth === 1 && byte === COLON) isValue = true
      else if (depth === 1 && byte === COMMA) isValue = false
    }
    return undefined
  }
}

function parsed(bytes: readonly number[]): string | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes))) as string
  } catch {
    return undefined
  }
}

/** Returns the chunks with another name in this place. */
function withPlace(
  chunks: readonly Uint8Array[],
  { start, end }: Place,
  name: string,
): Uint8Array[] {
  let at = 0
  return chunks.flatMap((chunk) => {
    const [from, to] = [Math.max(0, start - at), Math.max(0, end - at)]
    const begins = start >= at && start < at + chunk.byteLength
    at += chunk.byteLength
    const own = begins ? [new TextEncoder().encode(JSON.stringify(name))] : []
    return [chunk.subarray(0, from), ...own, chunk.subarray(to)]
  })
}

/** Returns a stream of chunks, and of what its source has left. */
function streamOf(
  chunks: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  const left = chunks.filter(({ byteLength }) => byteLength > 0)
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = left.length > 0 ? { value: left.shift() } : await reader.read()
      if (done || value === undefined) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

/** Returns a body with another name of its model, which is the first member as the handler writes it. */
export function withModel(body: string, from: string, to: string): string {
  if (from === to) return body
  const head = `{"model":${JSON.stringify(from)}`
  if (body.startsWith(head)) return `{"model":${JSON.stringify(to)}${body.slice(head.length)}`
  return JSON.stringify({ ...(JSON.parse(body) as object), model: to })
}

/** Returns the body of a call that names the tier `default`, unless it names one: the handler lets none pass that costs more. */
export function withTier(body: string): string {
  if (!body.includes('"service_tier"')) return `{"service_tier":"default",${body.slice(1)}`
  return JSON.stringify({ service_tier: 'default', ...(JSON.parse(body) as object) })
}

/** Returns a body with another name of one member, or without it. */
export function withMember(body: string, from: string, to?: string): string {
  if (!body.includes(`"${from}"`)) return body
  const { [from]: value, ...others } = JSON.parse(body) as Readonly<Record<string, unknown>>
  if (value === undefined) return body
  return JSON.stringify(to === undefined ? others : { ...others, [to]: value })
}
