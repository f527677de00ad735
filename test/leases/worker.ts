/* One process of the swarm: decides as fast as it can, and logs each decision before the next. */
import { writeSync, openSync } from 'node:fs'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { createLimiter, type Store } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { leased } from '@sluice/core/leases'
import { pipelined } from '@sluice/core/pipelined'
import { redis } from '@sluice/core/redis'
import { upstash } from '@sluice/core/upstash'
import { Redis } from 'ioredis'
import { lineOf } from './log.ts'
import { limitsForSwarm, planAt } from './traffic.ts'

/** The settings of a process, as JSON in its first argument. */
export interface WorkerSettings {
  readonly seed: number
  readonly logFile: string
  readonly prefix: string
  readonly size: number
  readonly tenants: number
  /** A Redis behind REST, or over TCP. */
  readonly rest?: { readonly url: string; readonly token: string }
  readonly redisUrl?: string
}

const IN_FLIGHT = 8
const TURN_MS = 60

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings
const log = openSync(settings.logFile, 'a')
const store = leased(cacheDenials(storeOf(settings)))
const limiter = createLimiter({ store, ...limitsForSwarm(settings.size) })
let random = settings.seed
let decided = 0
const stopping = new AbortController()

process.on('message', () => stopping.abort())
process.on('disconnect', () => process.exit())

await Promise.all(Array.from({ length: IN_FLIGHT }, decideUntilStopped))
await store.returnUnits()
process.send?.(decided, () => process.exit())

function storeOf({ rest, redisUrl = '', prefix }: WorkerSettings): Store {
  // A busy machine must not turn a decision into a degraded one.
  const patient = { prefix, timeoutMs: 30_000 }
  if (rest) return upstash({ ...rest, ...patient, fetch: pipelined() })
  return redis({ client: new Redis(redisUrl, { maxRetriesPerRequest: 0 }), ...patient })
}

async function decideUntilStopped(): Promise<void> {
  while (!stopping.signal.aborted) {
    const waitMs = await decide()
    if (waitMs > 0) await setTimeout(Math.min(waitMs, 20))
    else if (decided % 32 === 0) await setImmediate()
    if (decided % 256 === 0) process.send?.(decided)
  }
}

/** Makes one decision. Returns the time to wait if it is a denial. */
async function decide(): Promise<number> {
  const before = Date.now()
  const tenant = tenantAt(before)
  const route = dice(10) === 0 ? 'plain' : 'fast'
  const units = dice(8) === 0 ? 3 : 1
  const plan = planAt(before)
  const decision = await limiter.check({ tenant, route, plan }, { cost: units })
  const { at, allowed, source, degraded, retryAfterMs } = decision
  if (degraded) throw new Error(`A decision was degraded: ${degraded.cause}`)
  const isLeased = source === 'lease'
  const after = Date.now()
  writeSync(log, lineOf({ before, at, after, tenant, plan, route, units, allowed, isLeased }))
  decided += 1
  return retryAfterMs ?? 0
}

/** A process works for one tenant for a moment, and leaves the rest of its leases behind. */
function tenantAt(now: number): string {
  const turn = Math.floor(now / TURN_MS) * 31 + settings.seed * 17
  return `t${dice(8) === 0 ? dice(settings.tenants) : ((turn * 48_271) % 65_537) % settings.tenants}`
}

function dice(sides: number): number {
  random = (random * 48_271) % 2_147_483_647
  return random % sides
}
