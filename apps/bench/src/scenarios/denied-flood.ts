import { createLimiter, type Policy } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import type { Scenario } from './scenario.ts'
import type { Row } from '../measure/table.ts'
import { dailyAndWindow, hourly, tenants } from '../limits.ts'
import { cpuMicroseconds, interleave, type Sample } from '../measure/rounds.ts'

const CALLS = 20_000
const TURNS = 5
const TENANTS = 1_000

/** The CPU time of denials that a cache makes, without the store. */
export const deniedFloodScenario: Scenario = {
  name: 'denied-flood',
  title: 'decisions per second of CPU when 1,000 denied tenants go on',

  async run({ rounds }) {
    const sides = {
      one: await denied([hourly(1)]),
      two: await denied(dailyAndWindow(1)),
    }
    const perSecond = await interleave(rounds, sides, TURNS)
    return [row('one window', perSecond.one), row('daily cap and window', perSecond.two)]
  },
}

const row = (title: string, values: readonly number[]): Row => ({
  title: `cached denials: ${title}`,
  unit: 'decisions/s',
  ours: { values },
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
