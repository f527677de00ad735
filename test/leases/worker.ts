/* One process of the swarm: decides as fast as it can, and logs each decision before the next. */
import { writeSync, openSync } from 'node:fs'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { createLimiter, type Store, type StoreError } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { cacheDenials } from '@sluice/core/cache-denials'
import { leased, reserveFromLeases } from '@sluice/core/leases'
import { redis } from '@sluice/core/redis'
import { reserve, type Reservation } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { Redis } from 'ioredis'
import { durableObjects } from '../../packages/cloudflare/dist/durable-object/durable-objects.js'
import { namespaceAt } from '../support/remote-objects.ts'
import { openPlaces } from './places.ts'
import { lineOf } from './log.ts'
import { clockOf, limitsForSwarm, planAt, type Traffic } from './traffic.ts'

/** The settings of a process, as JSON in its first argument. */
export interface WorkerSettings {
  readonly seed: number
  readonly logFile: string
  readonly prefix: string
  readonly traffic: Traffic
  /** A Redis behind REST, or over TCP. */
  readonly rest?: { readonly url: string; readonly token: string }
  readonly redisUrl?: string
  /** … or Durable Objects in workerd. */
  readonly objectsUrl?: string
  /** … or the nodes of a Redis Cluster. */
  readonly clusterPorts?: readonly number[]
  /** … or several databases. */
  readonly databaseUrls?: readonly string[]
  /** … or a region. */
  readonly region?: { readonly homeUrl: string; readonly hereUrl: string }
  /** The stage of their moves. */
  readonly stage?: number
  /** True if its store may fail: then it goes on later. */
  readonly mayFail?: boolean
}

const IN_FLIGHT = 32

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings
const log = openSync(settings.logFile, 'a')
const store = await openStore()
const { traffic } = settings
const limiter = createLimiter({ store, ...limitsForSwarm(traffic), onStoreError: 'deny' })
const clock = clockOf(traffic)
let random = settings.seed
let decided = 0
const stopping = new AbortController()

process.on('message', () => stopping.abort())
process.on('disconnect', () => process.exit())

await Promise.all(Array.from({ length: IN_FLIGHT }, decideUntilStopped))
await store.returnUnits()
process.send?.(decided, () => process.exit())

async function openStore(): Promise<Store & { returnUnits(): Promise<void> }> {
  const { prefix, objectsUrl, clusterPorts, databaseUrls, region, stage } = settings
  // Objects hold leases themselves.
  if (objectsUrl !== undefined) {
    return { ...cacheDenials(storeInObjects(objectsUrl)), returnUnits: async () => {} }
  }
  if (clusterPorts ?? databaseUrls ?? region) {
    const placed = await openPlaces({ prefix, clusterPorts, databaseUrls, region, stage })
    return { ...cacheDenials(placed), returnUnits: () => placed.returnUnits() }
  }
  return leased(cacheDenials(storeOf(settings)), { reservations: reserveFromLeases })
}

function storeOf({ rest, redisUrl = '', prefix }: WorkerSettings): Store {
  // A busy machine must not turn a decision into a degraded one.
  const patient = { prefix, timeoutMs: 30_000 }
  if (rest) return batched(upstash({ ...rest, ...patient }))
  return batched(redis({ client: new Redis(redisUrl, { maxRetriesPerRequest: 0 }), ...patient }))
}

function storeInObjects(url: string): Store {
  return durableObjects(namespaceAt(url), { prefix: settings.prefix, timeoutMs: 30_000 })
}

async function decideUntilStopped(): Promise<void> {
  while (!stopping.signal.aborted) {
    const waitMs = await decide()
    if (waitMs > 0) await setTimeout(Math.min(waitMs, 20))
    else if (decided % 8 === 0) await setImmediate()
    if (decided % 256 === 0) process.send?.(decided)
  }
}

/** Makes one decision. Returns the time to wait if it is a denial. */
async function decide(): Promise<number> {
  const before = clock()
  const tenant = tenantAt(before)
  const route = dice(40) === 0 ? 'plain' : 'fast'
  const units = dice(8) === 0 ? 3 : 1
  const plan = planAt(before, traffic)
  const subject = { tenant, route, plan }
  const call =
    dice(6) === 0
      ? await reserve(limiter, subject, { cost: units, settleWithin: '20s' })
      : undefined
  const decision = call ?? (await limiter.check(subject, { cost: units }))
  const { at, allowed, source, degraded, retryAfterMs } = decision
  // A call without an answer may have been counted.
  if (degraded && settings.mayFail) return 20
  // The tenant has moved, and this process is one of before.
  if (degraded?.cause === 'store_moved' && settings.stage !== undefined) return 20
  if (degraded) throw new Error(`A decision was degraded: ${degraded.cause}`)
  const after = clock()
  const used = call?.allowed ? await settle(call, units) : units
  const [isLeased, isCached] = [source === 'lease', source === 'cache']
  const facts = { before, at, after, tenant, plan, route, allowed, isLeased, isCached }
  writeSync(log, lineOf({ ...facts, units: used }))
  decided += 1
  return retryAfterMs ?? 0
}

/** Settles a reservation after a while, with what it has used: all, less, or nothing. */
async function settle(call: Reservation, units: number): Promise<number> {
  if (dice(4) === 0) await setTimeout(dice(40))
  const used = dice(units + 1)
  for (let attempt = 1; ; attempt += 1) {
    try {
      await call.settle(used)
      return used
    } catch (error) {
      // The estimate stays charged, which is no less.
      if (settings.stage !== undefined && (error as StoreError).code === 'store_moved') return used
      if (!settings.mayFail || attempt === 2_000) throw error
      await setTimeout(50)
    }
  }
}

/** A process works for one tenant for a moment, and leaves the rest of its leases behind. */
function tenantAt(now: number): string {
  const { tenants, turnMs } = traffic
  const turn = Math.floor(now / turnMs) * 31 + settings.seed * 17
  return `t${dice(16) === 0 ? dice(tenants) : ((turn * 48_271) % 65_537) % tenants}`
}

function dice(sides: number): number {
  random = (random * 48_271) % 2_147_483_647
  return random % sides
}
