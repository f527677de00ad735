import { createLimiter } from '@sluice/core'
import { pipelined as pipelinedFetch } from '@sluice/core/pipelined'
import { upstash } from '@sluice/core/upstash'
import type { Scenario } from './scenario.ts'
import type { Row } from '../measure/table.ts'
import { bareEvalsha } from '../sides/bare-evalsha.ts'
import { hourly, tenants } from '../limits.ts'
import { peerClient, peerLimiter, peerWindow } from '../sides/peer.ts'
import { interleave, type Sample } from '../measure/rounds.ts'

const LANES = 64
const CALLS = 50

/** Many requests of one client at the same time. */
export const inFlightScenario: Scenario = {
  name: 'in-flight',
  title: `decisions per second over HTTP, ${LANES} in flight`,

  async run({ servers, rounds }) {
    const { url, token } = servers
    const store = upstash({ url, token, timeoutMs: 10_000 })
    const limiter = createLimiter({ store, policies: [hourly()] })
    const sharing = createLimiter({
      store: upstash({ url, token, timeoutMs: 10_000, fetch: pipelinedFetch() }),
      policies: [hourly()],
    })
    const [pipelined, single] = [true, false].map((way) =>
      peerLimiter(peerClient(servers, way), peerWindow(), 'peer'),
    )
    const tenant = tenants()
    const perSecond = await interleave(rounds, {
      bare: lanes(await bareEvalsha(servers)),
      pipelined: lanes(async () => pipelined?.limit(tenant())),
      single: lanes(async () => single?.limit(tenant())),
      ours: lanes(() => limiter.check({ tenant: tenant() })),
      sharing: lanes(() => sharing.check({ tenant: tenant() })),
    })
    const row = (
      title: string,
      peerValues: readonly number[],
      ourValues = perSecond.ours,
    ): Row => ({
      title: `${LANES} in flight: one window${title}`,
      unit: 'decisions/s',
      reference: { values: perSecond.bare, note: 'bare EVALSHA' },
      peer: { values: peerValues },
      ours: { values: ourValues },
    })
    return [
      row('', perSecond.pipelined),
      row(', both in shared requests', perSecond.pipelined, perSecond.sharing),
      row(', a request for each', perSecond.single),
    ]
  },
}

/** Measures the calls per second of parallel lanes, each of which makes one call after the other. */
const lanes =
  (call: () => Promise<unknown>): Sample =>
  async () => {
    const start = performance.now()
    const lane = async (): Promise<void> => {
      for (let index = 0; index < CALLS; index += 1) await call()
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    return (LANES * CALLS * 1_000) / (performance.now() - start)
  }
