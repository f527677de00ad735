import {
  createLimiter,
  dailyCap,
  fixedWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { lease, leased } from '@sluice/core/leases'
import { upstash } from '@sluice/core/upstash'
import { Ratelimit } from '@upstash/ratelimit'
import type { Bench, Scenario } from './scenario.ts'
import type { Figure, Row } from '../measure/row.ts'
import { AMPLE } from '../limits.ts'
import { dollarsPerMillion } from '../report/prices.ts'
import { peerBucket, peerClient, peerLimiter, peerWindow } from '../sides/peer.ts'
import { statsOf } from '../traffic/command-stats.ts'

const TENANTS = 10
const REQUESTS_OF_A_TENANT = 100

type PeerAlgorithm = ReturnType<typeof peerWindow>
type Store = ReturnType<typeof upstash>

/** A limiter in two forms, or in ours alone. */
interface Case {
  readonly title: string
  readonly policies: (limit: number) => readonly Policy[]
  readonly peer?: (limit: number) => PeerAlgorithm
}

const per = ['tenant'] as const
const hour = { window: '1h', per } as const
const counter = (limit: number) => fixedWindow({ name: 'hour', limit, ...hour })
const log = (limit: number) => slidingWindow({ name: 'hour', limit, ...hour })

const CASES: readonly Case[] = [
  {
    title: 'fixedWindow',
    policies: (limit) => [counter(limit)],
    peer: (limit) => Ratelimit.fixedWindow(limit, '1 h'),
  },
  {
    title: 'tokenBucket',
    policies: (limit) => [tokenBucket({ name: 'bucket', limit, ...hour })],
    peer: peerBucket,
  },
  {
    title: 'slidingWindowCounter',
    policies: (limit) => [slidingWindowCounter({ name: 'hour', limit, ...hour })],
    peer: peerWindow,
  },
  { title: 'slidingWindow', policies: (limit) => [log(limit)], peer: peerWindow },
  {
    title: 'slidingWindows, three',
    policies: (limit) => [
      slidingWindows({
        name: 'windows',
        windows: {
          minute: { limit: AMPLE, window: '1m' },
          hour: { limit, window: '1h' },
          day: { limit: AMPLE, window: '1d' },
        },
        per,
      }),
    ],
  },
  {
    title: 'dailyCap and slidingWindow',
    policies: (limit) => [dailyCap({ name: 'daily', limit: AMPLE, per }), log(limit)],
  },
]

/** The price of decisions at Upstash, by the commands that a real Redis counts. */
export const dollarsScenario: Scenario = {
  name: 'dollars',
  title: 'dollars per million decisions at Upstash',

  async run(bench) {
    const rows: Row[] = []
    for (const one of CASES) {
      rows.push(await allowed(bench, one))
      rows.push(await denied(bench, one, false))
    }
    const cached = CASES.find(({ title }) => title === 'slidingWindow')
    if (cached) rows.push(await denied(bench, cached, true))
    rows.push(await fromLeases(bench))
    return rows
  },
}

async function allowed(bench: Bench, { title, policies, peer }: Case): Promise<Row> {
  return row(
    `${title}, allowed`,
    await billed(bench, ourCheck(storeOf(bench), policies(AMPLE))),
    peer && (await billed(bench, peerCheck(bench, peer(AMPLE)))),
  )
}

/** Denials of tenants that go on, the first of each included. */
async function denied(bench: Bench, { title, policies, peer }: Case, cache: boolean): Promise<Row> {
  const store = cache ? cacheDenials(storeOf(bench)) : storeOf(bench)
  const before = 1
  return row(
    `${title}, denied${cache ? ', with a deny cache' : ''}`,
    await billed(bench, ourCheck(store, policies(before)), before),
    peer && (await billed(bench, peerCheck(bench, peer(before), cache), before)),
  )
}

async function fromLeases(bench: Bench): Promise<Row> {
  const everyone = fixedWindow({ name: 'everyone', limit: 1e9, window: '1h', per: 'global' })
  const check = ourCheck(leased(storeOf(bench)), [lease(everyone)])
  return row('fixedWindow for everyone, leased', await billed(bench, check))
}

const storeOf = ({ servers: { url, token } }: Bench): Store =>
  upstash({ url, token, timeoutMs: 10_000 })

const row = (title: string, ours: Figure, peer?: Figure): Row => ({
  title,
  unit: 'dollars per million',
  ours,
  ...(peer && { others: { '@upstash/ratelimit': peer } }),
})

type Check = (tenant: string) => Promise<unknown>

function ourCheck(store: Store, policies: readonly Policy[]): Check {
  const limiter = createLimiter({ store, policies })
  return (tenant) => limiter.check({ tenant })
}

function peerCheck({ servers }: Bench, limiter: PeerAlgorithm, cache = false): Check {
  const peer = peerLimiter(peerClient(servers), limiter, 'peer', { cache })
  return (tenant) => peer.limit(tenant)
}

/** Counts the commands of a decision, after `before` decisions of each tenant. */
async function billed({ servers: { redis } }: Bench, check: Check, before = 0): Promise<Figure> {
  await redis.flushall()
  // The script is sent with the first decision of all.
  await check('first')
  await check('first')
  const times = async (count: number): Promise<void> => {
    for (let index = 0; index < count * TENANTS; index += 1) await check(`t${index % TENANTS}`)
  }
  await times(before)
  const stats = await statsOf(redis, () => times(REQUESTS_OF_A_TENANT))
  const calls = [...stats.values()].reduce((sum, { calls: more }) => sum + more, 0)
  const commands = calls / (TENANTS * REQUESTS_OF_A_TENANT)
  return { values: [dollarsPerMillion(commands)], note: `${commands.toFixed(2)} commands` }
}
