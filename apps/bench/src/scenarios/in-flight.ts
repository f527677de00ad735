import { createLimiter, type Policy } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { upstash } from '@sluice/core/upstash'
import type { Bench, Scenario } from './scenario.ts'
import type { Row, Unit } from '../measure/row.ts'
import type { Servers } from '../servers/servers.ts'
import { dailyAndWindow, hourly, tenants } from '../limits.ts'
import { LANES, Lanes } from '../measure/lanes.ts'
import { interleave, sequential } from '../measure/rounds.ts'
import { bareEvalsha } from '../sides/bare-evalsha.ts'
import { peerClient, peerDaily, peerLimiter, peerWindow } from '../sides/peer.ts'

/** The calls of a lane where each is a request. */
const SINGLE_CALLS = 10

/** The calls of one caller in a turn, and its turns in a round. */
const CALLS = 50
const TURNS = 6

const BARE = 'bare EVALSHA'
const PEER = '@upstash/ratelimit'
const DEFAULT = 'Sluice without batched'
const SINGLE = 'Sluice, a request for each'

/** Many requests of one client at the same time. */
export const inFlightScenario: Scenario = {
  name: 'in-flight',
  title: `decisions over HTTP, ${LANES} in flight`,

  async run(bench) {
    return [
      await single(bench),
      ...(await aiJob(bench, 1_000, 1.1)),
      ...(await aiJob(bench, 8, 2)),
      await oneCaller(bench),
    ]
  },
}

/** One window, a request for each decision. */
async function single(bench: Bench): Promise<Row> {
  const { servers } = bench
  const tenant = tenants()
  const { single: check } = limitersOf(servers, [hourly()])
  const peer = peerLimiter(peerClient(servers, false), peerWindow(), 'peer')
  const lanes = (call: () => Promise<unknown>) => new Lanes(servers, call, SINGLE_CALLS).sample
  const perSecond = await interleave(bench, {
    bare: lanes(await bareEvalsha(servers)),
    peer: lanes(() => peer.limit(tenant())),
    ours: lanes(() => check(tenant())),
  })
  return {
    title: 'one window, a request for each',
    unit: 'decisions/s',
    ours: { values: perSecond.ours },
    others: { [BARE]: { values: perSecond.bare }, [PEER]: { values: perSecond.peer } },
  }
}

/** A daily cap and a window for so many tenants, in shared requests. `bar` is the least ratio to the peer. */
async function aiJob(bench: Bench, count: number, bar: number): Promise<Row[]> {
  const { servers, rounds } = bench
  const tenant = tenants(count)
  const limiters = limitersOf(servers, dailyAndWindow())
  const peer = peerOf(servers)
  const lanes = {
    ours: new Lanes(servers, () => limiters.batched(tenant())),
    peer: new Lanes(servers, () => peer(tenant())),
    unbatched: new Lanes(servers, () => limiters.unbatched(tenant())),
    single: new Lanes(servers, () => limiters.single(tenant()), SINGLE_CALLS),
  }
  const perSecond = await interleave(bench, {
    ours: lanes.ours.sample,
    peer: lanes.peer.sample,
    unbatched: lanes.unbatched.sample,
    single: lanes.single.sample,
  })
  const title = `AI job, ${count.toLocaleString('en')} tenants`
  const row = (what: string, name: Parameters<Lanes['values']>[0], unit: Unit = 'µs'): Row => ({
    title: `${title}: ${what}`,
    unit,
    ours: { values: lanes.ours.values(name, rounds) },
    others: {
      [PEER]: { values: lanes.peer.values(name, rounds) },
      [DEFAULT]: { values: lanes.unbatched.values(name, rounds) },
      [SINGLE]: { values: lanes.single.values(name, rounds) },
    },
  })
  // The most that Redis' thread could decide if it never waited.
  const most = lanes.ours.values('redis', rounds).map((micros) => 1_000_000 / micros)
  return [
    {
      title,
      unit: 'decisions/s',
      ours: { values: perSecond.ours },
      others: {
        "Redis' thread, never waiting": { values: most, bar: 0.85 },
        [PEER]: { values: perSecond.peer, bar },
        [DEFAULT]: { values: perSecond.unbatched },
        [SINGLE]: { values: perSecond.single },
      },
    },
    {
      title: `${title}, without batched`,
      unit: 'decisions/s',
      ours: { values: perSecond.unbatched },
      others: { [PEER]: { values: perSecond.peer, bar: 0.8 } },
    },
    {
      title: `${title}, without batched: CPU of the client`,
      unit: 'µs',
      ours: { values: lanes.unbatched.values('client', rounds) },
      others: { [PEER]: { values: lanes.peer.values('client', rounds), bar: 1.5 } },
    },
    row('CPU in all', 'all'),
    row('CPU of the client', 'client'),
    row('CPU of Redis', 'redis'),
    row('commands', 'commands', 'commands'),
  ]
}

/** One caller, who makes one decision after the other. */
async function oneCaller(bench: Bench): Promise<Row> {
  const limiters = limitersOf(bench.servers, dailyAndWindow())
  const tenant = tenants()
  const ms = await interleave(
    bench,
    {
      ours: () => sequential(CALLS, () => limiters.batched(tenant())),
      unbatched: () => sequential(CALLS, () => limiters.unbatched(tenant())),
      single: () => sequential(CALLS, () => limiters.single(tenant())),
    },
    TURNS,
  )
  return {
    title: 'AI job, one caller',
    unit: 'ms',
    ours: { values: ms.ours },
    others: { [DEFAULT]: { values: ms.unbatched }, [SINGLE]: { values: ms.single, bar: 1.05 } },
  }
}

/** Checks of a tenant by three limiters of these policies: `batched`, without it, and with a request for each. */
function limitersOf({ url, token }: Servers, policies: readonly Policy[]) {
  const options = { url, token, timeoutMs: 30_000 }
  const stores = {
    batched: batched(upstash(options)),
    unbatched: upstash(options),
    single: upstash({ ...options, pipeline: false }),
  }
  const checkBy = (way: keyof typeof stores) => {
    const limiter = createLimiter({ store: stores[way], policies })
    return (tenant: string) => limiter.check({ tenant })
  }
  return {
    batched: checkBy('batched'),
    unbatched: checkBy('unbatched'),
    single: checkBy('single'),
  }
}

/** The peer's two limiters for two policies, in shared requests. */
function peerOf(servers: Servers): (tenant: string) => Promise<void> {
  const client = peerClient(servers)
  const day = peerLimiter(client, peerDaily(), 'peer-day')
  const window = peerLimiter(client, peerWindow(), 'peer')
  return async (tenant) => {
    await day.limit(tenant)
    await window.limit(tenant)
  }
}
