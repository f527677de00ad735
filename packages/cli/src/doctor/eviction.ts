/* Whether a database that is reached by REST deletes keys when it is full. */
import type { Finding } from './finding.ts'

const WAIT_MS = 2_000

/** Returns what is wrong with the eviction of the database of the environment. Nothing if it does not tell. */
export async function judgeEviction(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const url = env['UPSTASH_REDIS_REST_URL'] ?? env['KV_REST_API_URL']
  const token = env['UPSTASH_REDIS_REST_TOKEN'] ?? env['KV_REST_API_TOKEN']
  if (!url || !token) return []
  const policy = await policyOf(url, token)
  if (policy === undefined || policy === 'noeviction') return []
  return [
    {
      code: 'eviction_on',
      text: `a full database deletes keys (maxmemory-policy ${policy}): a deleted key is a full budget`,
      remedy: 'turn eviction off: on a Redis of your own, CONFIG SET maxmemory-policy noeviction',
    },
  ]
}

async function policyOf(url: string, token: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(['INFO', 'memory']),
      signal: AbortSignal.timeout(WAIT_MS),
    })
    const { result } = (await response.json()) as { result?: unknown }
    return /^maxmemory_policy:(\S+)/m.exec(String(result))?.[1]
  } catch {
    // What is wrong with the database, decisions have found before.
    return undefined
  }
}
