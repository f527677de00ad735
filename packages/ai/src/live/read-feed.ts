import { readChunks } from '@sluice/core/internal/http'
import { invalidOption } from '@sluice/core/internal'

/** The largest feed, in bytes. */
const MAX_FEED_BYTES = 10_000_000

/** A public list of prices, and how to read it. */
export interface Feed {
  readonly url: string
  readonly vendors: readonly string[]
  readonly timeoutMs: number
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
}

/** Returns the address of a feed. @throws ConfigError When it is not `https:`, or `http:` of this machine. */
export function assertFeedUrl(option: string, value: unknown): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  const isHere = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url?.hostname ?? '')
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere)) return url.href
  throw invalidOption(option, 'must be an address that begins with https:')
}

/** Reads a feed, which may neither take longer nor be longer than its bounds. @throws Error */
export async function readFeed({ url, timeoutMs, fetch }: Feed): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs)
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () =>
      reject(new Error(`has not answered within ${timeoutMs} ms`)),
    )
  })
  return Promise.race([aborted, textOf(await Promise.race([aborted, fetch(url, { signal })]))])
}

async function textOf(answer: Response): Promise<string> {
  if (!answer.ok) throw new Error(`has answered ${answer.status}`)
  const decoder = new TextDecoder()
  let text = ''
  try {
    await readChunks(answer, MAX_FEED_BYTES, (chunk) => {
      text += decoder.decode(chunk, { stream: true })
    })
  } catch (error) {
    const isLarge = (error as { code?: unknown } | null)?.code === 'body_too_large'
    throw isLarge ? new Error(`is larger than ${MAX_FEED_BYTES} bytes`) : error
  }
  return text + decoder.decode()
}
