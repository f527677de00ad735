/* Asks a database over REST whether it deletes keys when it is full, and whether it writes. */
import type { Finding } from './finding.ts'

const WAIT_MS = 2_000

/** A key of the limiter's own user (`~sluice:*`), for a millisecond. */
const WRITE = ['SET', 'sluice:doctor', '1', 'PX', '1']

/** Remedies, by the reason for which Redis refuses every write. */
const REMEDIES: Readonly<Record<string, string>> = {
  OOM: 'give it more memory, and delete nothing: a deleted key is a full budget',
  READONLY: 'use the address of the primary: this is a replica',
  NOREPLICAS: 'start its replicas again, or lower min-replicas-to-write',
  MISCONF: 'look at its log and its disk: it cannot save',
}

/** Returns what is wrong with the database of the environment. Nothing if it does not tell. */
export async function judgeDatabase(
  env: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const url = env['UPSTASH_REDIS_REST_URL'] ?? env['KV_REST_API_URL']
  const token = env['UPSTASH_REDIS_REST_TOKEN'] ?? env['KV_REST_API_TOKEN']
  if (!url || !token) return []
  const memory = await send(url, token, ['INFO', 'memory'])
  const written = await send(url, token, WRITE)
  return [...judgeEviction(memory.result), ...judgeWrites(written.error)]
}

function judgeEviction(memory: unknown): Finding[] {
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(memory))?.[1]
  if (policy === undefined || policy === 'noeviction') return []
  return [
    {
      code: 'eviction_on',
      text: `a full database deletes keys (maxmemory-policy ${policy}): a deleted key is a full budget`,
      remedy: 'turn eviction off: on a Redis of your own, CONFIG SET maxmemory-policy noeviction',
    },
  ]
}

function judgeWrites(error: unknown): Finding[] {
  const reason = /^(?:ERR )?([A-Z]+)\b/.exec(String(error))?.[1] ?? ''
  const remedy = REMEDIES[reason]
  if (remedy === undefined) return []
  const text = `the database refuses to write (${reason}): onStoreError decides what would be allowed`
  return [{ code: 'store_read_only', text, remedy }]
}

async function send(
  url: string,
  token: string,
  command: readonly string[],
): Promise<{ readonly result?: unknown; readonly error?: unknown }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(command),
      signal: AbortSignal.timeout(WAIT_MS),
    })
    return (await response.json()) as { result?: unknown; error?: unknown }
  } catch {
    // What is wrong with the database, decisions have found before.
    return {}
  }
}
