import { createLimiter, type Clock, type Policy } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import type { Servers } from '../servers/servers.ts'
import { StoreTap, type RedisCommand, type Traffic } from './record.ts'

/**
 * Records what a limiter sends for one decision of each tenant, and sends nothing of that. Redis' clock decides
 * unless one is given.
 */
export async function ourTraffic(
  { url, token, redis }: Servers,
  policies: readonly Policy[],
  tenants: readonly string[],
  prefix = 'ours',
  clock?: Clock,
): Promise<Traffic> {
  const tap = new StoreTap()
  const store = upstash({ url, token, fetch: tap.fetch, timeoutMs: 10_000, prefix })
  const limiter = createLimiter({ store, policies, ...(clock && { clock }) })
  // Makes the first check send the script itself, which the tap records.
  await redis.script('FLUSH')
  await limiter.check({ tenant: 'first' })
  await limiter.check({ tenant: 'first' })
  const commands: RedisCommand[] = []
  tap.freeze((body) => commands.push(JSON.parse(body) as RedisCommand))
  for (const tenant of tenants) await limiter.check({ tenant })
  return { scripts: tap.scripts, commands }
}
