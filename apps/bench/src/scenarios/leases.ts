import { createLimiter } from '@sluice/core'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import type { Scenario } from './scenario.ts'
import { AMPLE, hourly } from '../limits.ts'
import { cpuMicroseconds, interleave, sequential } from '../measure/rounds.ts'
import { bareEvalsha } from '../sides/bare-evalsha.ts'

const CPU_CALLS = 10_000
const CALLS = 500
const BARE_CALLS = 50
const TURNS = 5

/** A limit for everyone, leased in blocks of up to 100. */
const everyone = () => lease(hourly(AMPLE * 1_000, 'everyone', 'global'))

/** Decisions from leases, those that take a block included. */
export const leasesScenario: Scenario = {
  name: 'leases',
  title: 'a limit for everyone, leased in blocks of up to 100',

  async run(bench) {
    const { url, token } = bench.servers
    const store = leased(upstash({ url, token, timeoutMs: 10_000 }))
    const overHttp = createLimiter({ store, policies: [everyone()] })
    const inMemory = createLimiter({ store: leased(memory()), policies: [everyone()] })
    const bare = await bareEvalsha(bench.servers)
    const figures = await interleave(
      bench,
      {
        bare: () => sequential(BARE_CALLS, bare),
        overHttp: () => sequential(CALLS, () => overHttp.check({})),
        cpu: () => cpuMicroseconds(CPU_CALLS, () => inMemory.check({})),
      },
      TURNS,
    )
    return [
      {
        title: 'sequential, over HTTP',
        unit: 'ms',
        ours: { values: figures.overHttp },
        others: { 'bare EVALSHA': { values: figures.bare, bar: 0.1 } },
      },
      {
        title: 'CPU of a check',
        unit: 'µs',
        ours: { values: figures.cpu },
        bar: 3.33,
      },
    ]
  },
}
