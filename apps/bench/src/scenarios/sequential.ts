import { createLimiter, dailyCap, type Policy } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import type { Servers } from '../servers/servers.ts'
import type { Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { bareEvalsha } from '../sides/bare-evalsha.ts'
import { handWrittenScript } from '../sides/hand-written.ts'
import { BUDGET_COST, dailyAndWindow, hourly, sixPolicies, tenants } from '../limits.ts'
import { peerClient, peerDaily, peerLimiter, peerWindow } from '../sides/peer.ts'
import { reserveAndSettle } from '../sides/reserve-and-settle.ts'
import { interleave, sequential, type Measurements, type Sample } from '../measure/rounds.ts'

const CALLS = 50
const TURNS = 6

const calls =
  (call: () => Promise<unknown>): Sample =>
  () =>
    sequential(CALLS, call)

/** The time of a decision over HTTP, for one caller that makes one after the other. */
export const sequentialScenario: Scenario = {
  name: 'sequential',
  title: 'milliseconds per decision over HTTP, one after the other',

  async run(bench) {
    return rowsOf(await interleave(bench, await samplesOf(bench.servers), TURNS))
  },
}

type Side =
  | 'bare'
  | 'handTwo'
  | 'handOne'
  | 'two'
  | 'peerTwo'
  | 'one'
  | 'peerOne'
  | 'denied'
  | 'peerDenied'
  | 'six'
  | 'settled'

async function samplesOf(servers: Servers): Promise<Record<Side, Sample>> {
  const { url, token } = servers
  const store = upstash({ url, token, timeoutMs: 10_000 })
  const limiterOf = (policies: Policy[]) => createLimiter({ store, policies })
  const [one, two, six] = [[hourly()], dailyAndWindow(), sixPolicies()].map(limiterOf)
  const exhausted = limiterOf([hourly(1, 'spent')])
  const tokens = dailyCap({ name: 'tokens', limit: 1e9, per: ['tenant'], unit: 'token' })
  const reserving = limiterOf([tokens, hourly()])
  const client = peerClient(servers)
  const [peerOne, peerDay, peerExhausted] = [peerWindow(), peerDaily(), peerWindow(1)].map(
    (limiter, index) => peerLimiter(client, limiter, `peer-${index}`),
  )
  const tenant = tenants()
  return {
    bare: calls(await bareEvalsha(servers)),
    handTwo: calls(await handWrittenScript(servers, 'daily cap and window')),
    handOne: calls(await handWrittenScript(servers, 'one window')),
    two: calls(async () => two?.check({ tenant: tenant() })),
    peerTwo: calls(async () => {
      const id = tenant()
      await peerDay?.limit(id)
      await peerOne?.limit(id)
    }),
    one: calls(async () => one?.check({ tenant: tenant() })),
    peerOne: calls(async () => peerOne?.limit(tenant())),
    denied: calls(() => exhausted.check({ tenant: 't' })),
    peerDenied: calls(async () => peerExhausted?.limit('t')),
    six: calls(async () =>
      six?.check(
        { tenant: tenant(), route: 'evaluate', user: 'u1' },
        { cost: { usd: BUDGET_COST } },
      ),
    ),
    settled: calls(() => reserveAndSettle(reserving, tenant(), { token: 2_000 }, { token: 812 })),
  }
}

function rowsOf(ms: Measurements<Side>): Row[] {
  const row = (title: string, side: Side, bar: number, others: Row['others'] = {}): Row => ({
    title,
    unit: 'ms',
    ours: { values: ms[side] },
    others: { 'bare EVALSHA': { values: ms.bare, bar }, ...others },
  })
  const peer = (side: Side): Row['others'] => ({ '@upstash/ratelimit': { values: ms[side] } })
  const byHand = (side: Side): Row['others'] => ({ 'hand-written script': { values: ms[side] } })
  return [
    row('daily cap and window', 'two', 1.15, { ...byHand('handTwo'), ...peer('peerTwo') }),
    row('one window', 'one', 1.1, { ...byHand('handOne'), ...peer('peerOne') }),
    row('one window, denied', 'denied', 1.1, peer('peerDenied')),
    row('six policies', 'six', 1.3),
    row('reserve and settle, two round trips', 'settled', 2.3),
  ]
}
