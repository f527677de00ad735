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

/** What is stored under `prefix`, byte for byte, and when (epoch ms) each key expires. */
export async function snapshot(redis: Redis, prefix: string): Promise<Record<string, string>> {
  const keys = await keysUnder(redis, prefix)
  const rows = await Promise.all(
    keys.map(async (key) => {
      const [dump, expiry] = await Promise.all([redis.dumpBuffer(key), redis.pexpiretime(key)])
      return [key, `${dump?.toString('base64')} until ${expiry}`]
    }),
  )
  return Object.fromEntries(rows)
}

/** Calls of each command since the last `CONFIG RESETSTAT`, by name in lower case. */
export async function commandCalls(redis: Redis): Promise<Map<string, number>> {
  const info = await redis.info('commandstats')
  const rows = info.matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)
  return new Map(Array.from(rows, ([, name = '', calls]) => [name, Number(calls)]))
}
