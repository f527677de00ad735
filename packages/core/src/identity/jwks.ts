import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'

/** Options of `remoteKeys`. */
interface RemoteKeysOptions {
  readonly timeoutMs: number
  readonly clock: () => number
}

/** The largest key set that is read. */
const MAX_BYTES = 1_048_576

/** The pause after a failed request to the key server, in milliseconds. */
const PAUSE_MS = 1_000

type Fetch = NonNullable<Parameters<typeof createRemoteJWKSet>[1]>[typeof customFetch]

/**
 * Finds keys in the key set published at `url`. It is fetched at the first request and kept for ten
 * minutes. An unknown key makes it fetch again, at most every 30 seconds. After a failure it waits a
 * second, so that a flood of bad JWTs does not become a flood of requests to a server that is down.
 */
export function remoteKeys(url: URL, { timeoutMs, clock }: RemoteKeysOptions): JWTVerifyGetKey {
  // Plain data: on Cloudflare a promise kept here would belong to one request.
  let pausedUntil = -Infinity
  const fetchKeys: NonNullable<Fetch> = async (href, init) => {
    const now = clock()
    if (now < pausedUntil) throw new Error('The key server has just failed')
    try {
      const response = await fetch(href, init)
      if (response.status !== 200) throw new Error(`The key server answered ${response.status}`)
      return Response.json(parseKeySet(await readText(response)))
    } catch (error) {
      pausedUntil = now + PAUSE_MS
      throw error
    }
  }
  return createRemoteJWKSet(url, { timeoutDuration: timeoutMs, [customFetch]: fetchKeys })
}

function parseKeySet(text: string): object {
  const value = JSON.parse(text) as { keys?: unknown } | null
  if (value && Array.isArray(value.keys)) return value
  throw new Error('The key server did not answer with a key set')
}

async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) throw new Error('The key set is too large')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
