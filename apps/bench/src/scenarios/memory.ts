import { createLimiter, fixedWindow, type Policy } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Scenario } from './scenario.ts'
import { AMPLE, dailyAndWindow, tenants } from '../limits.ts'
import { cpuMicroseconds, interleave, type Sample } from '../measure/rounds.ts'

const CALLS = 4_000
const TURNS = 5

/** The CPU time of a decision in memory, without Redis. */
export const memoryScenario: Scenario = {
  name: 'memory',
  title: 'microseconds of CPU of a decision in memory',

  async run(bench) {
    const hour = fixedWindow({ name: 'hour', limit: AMPLE, window: '1h', per: ['tenant'] })
    const peer = new RateLimiterMemory({ points: AMPLE, duration: 3_600 })
    const tenant = tenants()
    const sides = {
      two: checks(dailyAndWindow()),
      one: checks([hour]),
      peer: () => cpuMicroseconds(CALLS, () => peer.consume(tenant())),
    }
    const cpu = await interleave(bench, sides, TURNS)
    return [
      {
        title: 'daily cap and window',
        unit: 'µs',
        ours: { values: cpu.two },
        bar: 3,
      },
      {
        title: 'one fixed window',
        unit: 'µs',
        ours: { values: cpu.one },
        others: { 'rate-limiter-flexible': { values: cpu.peer } },
        bar: 3,
      },
    ]
  },
}

function checks(policies: Policy[]): Sample {
  const limiter = createLimiter({ store: memory(), policies })
  const tenant = tenants()
  return () => cpuMicroseconds(CALLS, () => limiter.check({ tenant: tenant() }))
}
