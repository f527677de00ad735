import { createLimiter, type Policy } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import type { Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import type { Servers } from '../servers/servers.ts'
import { dailyAndWindow, hourly, tenants } from '../limits.ts'
import { cpuMicroseconds, interleave, type Sample } from '../measure/rounds.ts'
import { peerClient, peerLimiter, peerWindow } from '../sides/peer.ts'

const CALLS = 20_000
const TURNS = 5
const TENANTS = 1_000

/** The CPU time of denials that a cache makes, without the store. */
export const deniedFloodScenario: Scenario = {
  name: 'denied-flood',
  title: 'decisions per second of CPU when 1,000 denied tenants go on',

  async run(bench) {
    const sides = {
      peer: await blocked(bench.servers),
      one: await denied([hourly(1)]),
      two: await denied(dailyAndWindow(1)),
    }
    const perSecond = await interleave(bench, sides, TURNS)
    const peer = { values: perSecond.peer, note: 'its cache' }
    return [
      { ...row('one window', perSecond.one), others: { '@upstash/ratelimit': peer } },
      row('daily cap and window', perSecond.two),
    ]
  },
}

const row = (title: string, values: readonly number[]): Row => ({
  title,
  unit: 'decisions/s',
  ours: { values },
  bar: 500_000,
})

/** Measures the denials per second of CPU of tenants that have used up their limit. */
async function denied(policies: Policy[]): Promise<Sample> {
  const limiter = createLimiter({
    store: cacheDenials(memory(), { maxAgeMs: 3_600_000 }),
    policies,
  })
  const tenant = tenants(TENANTS)
  // The second check of a tenant is denied.
  for (let time = 0; time < 2 * TENANTS; time += 1) await limiter.check({ tenant: tenant() })
  const { source } = await limiter.check({ tenant: tenant() })
  if (source !== 'cache') throw new Error('A denial was not cached')
  return async () =>
    1_000_000 / (await cpuMicroseconds(CALLS, () => limiter.check({ tenant: tenant() })))
}

/** Measures the same of the peer, whose cache remembers a blocked identifier until its window is over. */
async function blocked(servers: Servers): Promise<Sample> {
  const peer = peerLimiter(peerClient(servers), peerWindow(1), 'flood', { cache: true })
  const tenant = tenants(TENANTS)
  for (let time = 0; time < 2 * TENANTS; time += 1) await peer.limit(tenant())
  const { reason } = await peer.limit(tenant())
  if (reason !== 'cacheBlock') throw new Error('A denial was not cached')
  return async () => 1_000_000 / (await cpuMicroseconds(CALLS, () => peer.limit(tenant())))
}
