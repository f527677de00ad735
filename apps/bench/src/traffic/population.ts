import type { Redis } from 'ioredis'

/** The name of a tenant; all are of one length. The first is the one that the others are copies of. */
export const tenantId = (index: number): string => `t${String(index).padStart(7, '0')}`

const FIRST = tenantId(0)

/** Copies a key to the same key of other tenants, with its time to live. */
const COPY = `
local key, first, ttl, value = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
for i = 5, #ARGV do
  redis.call('RESTORE', (string.gsub(key, first, ARGV[i])), ttl, value, 'REPLACE')
end`

/** The number of tenants in one call of the script. */
const BATCH = 5_000

/** The state of one tenant of a limiter, to be copied. */
export interface TenantState {
  readonly keys: readonly { readonly key: string; readonly ttl: number; readonly value: Buffer }[]
  /** The memory of Redis for the keys of one tenant, their names included. */
  readonly bytes: number
}

/** Reads the state of the first tenant, below a prefix. @throws Error When there is none. */
export async function stateOfFirst(redis: Redis, prefix: string): Promise<TenantState> {
  const names = await redis.keys(`${prefix}:*${FIRST}*`)
  const keys: TenantState['keys'][number][] = []
  let bytes = 0
  for (const key of names) {
    const value = await redis.dumpBuffer(key)
    if (value === null) throw new Error(`${key} has expired`)
    keys.push({ key, ttl: Math.max(0, await redis.pttl(key)), value })
    bytes += (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0
  }
  if (keys.length === 0) throw new Error(`No key of ${FIRST} below ${prefix}`)
  return { keys, bytes }
}

/** Gives tenants the state of the first, in place of their own. */
export async function populate(
  redis: Redis,
  { keys }: TenantState,
  tenants: readonly string[],
): Promise<void> {
  for (const { key, ttl, value } of keys) {
    for (let start = 0; start < tenants.length; start += BATCH) {
      const some = tenants.slice(start, start + BATCH)
      await redis.eval(COPY, 0, key, FIRST, ttl, value, ...some)
    }
  }
}
