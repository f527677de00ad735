import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'

/** Options of `remoteKeys`. */
interface RemoteKeysOptions {
  readonly timeoutMs: number
  readonly clock: () => number
}

/** No key set is larger. */
const MAX_BYTES = 1_048_576

/** How long a key server that failed is left alone, in milliseconds. */
const REST_MS = 1_000

type Fetch = NonNullable<Parameters<typeof createRemoteJWKSet>[1]>[typeof customFetch]

/**
 * The keys published at `url`: fetched when first needed, kept for ten minutes, and fetched again for an
 * unknown key at most every 30 seconds; after a failure not for a second, so that a flood of bad JWTs
 * is no flood for a server that is down already.
 */
export function remoteKeys(url: URL, { timeoutMs, clock }: RemoteKeysOptions): JWTVerifyGetKey {
  // Plain data: on Cloudflare a promise kept here would belong to one request.
  let restUntil = -Infinity
  const fetchKeys: NonNullable<Fetch> = async (href, init) => {
    const now = clock()
    if (now < restUntil) throw new Error('The key server has just failed')
    try {
      const response = await fetch(href, init)
      if (response.status !== 200) throw new Error(`The key server answered ${response.status}`)
      return Response.json(keySet(await bodyOf(response)))
    } catch (error) {
      restUntil = now + REST_MS
      throw error
    }
  }
  return createRemoteJWKSet(url, { timeoutDuration: timeoutMs, [customFetch]: fetchKeys })
}

function keySet(text: string): object {
  const value = JSON.parse(text) as { keys?: unknown } | null
  if (value && Array.isArray(value.keys)) return value
  throw new Error('The key server answered something else than a key set')
}

async function bodyOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let [read, bytes] = ['', 0]
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) throw new Error('The key set is too large')
    read += decoder.decode(chunk, { stream: true })
  }
  return read + decoder.decode()
}
