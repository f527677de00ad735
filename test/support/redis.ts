import { Redis } from 'ioredis'

/** A plain connection to a Redis, beside everything under test. */
export function connect(url: string): Redis {
  return new Redis(url, { disableClientInfo: true })
}

/** Every key that begins with `prefix`, sorted. */
export async function keysUnder(redis: Redis, prefix: string): Promise<string[]> {
  const found: string[] = []
  for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
    found.push(...(keys as string[]))
  }
  return [...new Set(found)].toSorted()
}

/**
 * The contents under `prefix`, byte for byte, and when (epoch ms) each key expires. Leaves out keys
 * that expire before `livingAt`, which may be gone by the next look.
 */
export async function snapshot(
  redis: Redis,
  prefix: string,
  livingAt = 0,
): Promise<Record<string, string>> {
  const rows: Record<string, string> = {}
  for (const key of await keysUnder(redis, prefix)) {
    const [dump, expiry] = await Promise.all([redis.dumpBuffer(key), redis.pexpiretime(key)])
    if (expiry >= livingAt) rows[key] = `${dump?.toString('base64')} until ${expiry}`
  }
  return rows
}

/** Calls of each command since the last `CONFIG RESETSTAT`, by name in lower case. */
export async function commandCalls(redis: Redis): Promise<Map<string, number>> {
  const info = await redis.info('commandstats')
  const rows = info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)
  return new Map(Array.from(rows, ([, name = '', calls]) => [name, Number(calls)]))
}
