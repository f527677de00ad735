/* One of several processes that spend the dollars of many tenants, and send their events to one page. */
import { budget, usd } from '@sluice/ai'
import { createLimiter, type Limiter } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { reserve } from '@sluice/core/reservations'
import { relay } from '@sluice/dashboard/relay'
import { Redis } from 'ioredis'

export const TENANTS = 5_100
const AT_ONCE = 50

/** Returns a limiter on this Redis, whose events go to the page, and the end of its connection. */
export function openLimiter(redisUrl: string, prefix: string, page?: { url: string; key: string }) {
  const client = new Redis(redisUrl, { maxRetriesPerRequest: 0 })
  const limiter = createLimiter({
    store: redis({ client, prefix, timeoutMs: 30_000 }),
    policies: [budget({ daily: usd(1_000), per: ['tenant'] })],
    extensions: page ? [relay({ target: () => page })] : [],
  })
  return { limiter, close: () => client.quit() }
}

/** Reserves and settles a call of each tenant that this process serves, two of three, in its own order. */
async function spend(limiter: Limiter, number: number): Promise<void> {
  const tenants = Array.from(
    { length: TENANTS },
    (_, index) => (index * 7 + number * 1_013) % TENANTS,
  )
  const own = tenants.filter((tenant) => (tenant + number) % 3 !== 0)
  const one = async (tenant: number): Promise<void> => {
    const call = await reserve(limiter, { tenant: `t${tenant}` }, { cost: { usd: 40_000 } })
    if (call.allowed) await call.settle({ usd: 1_000 + ((tenant * 37 + number) % 30_000) })
  }
  // The one that burns money, and is then quiet.
  const burnt = await reserve(limiter, { tenant: 'burner' }, { cost: { usd: 300_000_000 } })
  if (burnt.allowed) await burnt.settle({ usd: 299_000_001 })
  for (let at = 0; at < own.length; at += AT_ONCE) {
    await Promise.all(own.slice(at, at + AT_ONCE).map(one))
  }
}

const [redisUrl, prefix, url, key, number] = process.argv.slice(2)
if (process.send && redisUrl && prefix && url && key) {
  const { limiter } = openLimiter(redisUrl, prefix, { url, key })
  await spend(limiter, Number(number))
  // Its events still go out in the background.
  process.send('spent')
  process.on('disconnect', () => process.exit())
}
