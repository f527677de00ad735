import { setTimeout } from 'node:timers/promises'
import { createLimiter } from '@sluice/core'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { slotOf, startRedisCluster, type RedisCluster } from '../support/redis-cluster.ts'
import { freshPrefix } from '../support/stores.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { findingsOf, outOfTime } from './findings.ts'
import { openPlaces } from './places.ts'
import { runSwarm } from './swarm.ts'
import { limitsForSwarm, planAt, SMALL_LIMITS, type Traffic } from './traffic.ts'

/** `npm run test:leases` makes a million. */
const DECISIONS = Number(process.env['LEASE_DECISIONS'] ?? 10_000)

const TRAFFIC: Traffic = {
  tenants: 4,
  windowMs: 4_000,
  quotaMs: 6_000,
  leaseMs: 400,
  planMs: 5_000,
  turnMs: 120,
  limits: SMALL_LIMITS,
}

let cluster: RedisCluster
beforeAll(async () => {
  cluster = await startRedisCluster()
})
afterAll(() => cluster.stop())

const PLACES = {
  'a Redis Cluster whose slots move': {
    where: () => ({ clusterPorts: cluster.nodes.map(({ port }) => port) }),
    disturb: async (prefix: string, ending: AbortSignal): Promise<number> => {
      const values = ['home', ...Array.from({ length: TRAFFIC.tenants }, (_, n) => `tenant=t${n}`)]
      let moved = 0
      while (!ending.aborted) {
        await cluster.moveSlot(slotOf(`${prefix}:{${values[moved % values.length]}}`))
        moved += 1
        await setTimeout(50)
      }
      return moved
    },
  },
  'four databases': {
    where: () => ({ databaseUrls: databaseUrls() }),
    disturb: async (): Promise<number> => Infinity,
  },
}

const databaseUrls = (): string[] => [1, 2, 3, 4].map((n) => `${inject('redisUrl')}/${n}`)

it.each(Object.entries(PLACES))(
  'processes that are killed exceed no limit in %s',
  { timeout: 1_800_000 },
  async (name, { where, disturb }) => {
    const prefix = freshPrefix()
    const ending = new AbortController()
    const store = await openPlaces({ prefix, ...where() })
    const disturbing = disturb(prefix, ending.signal)
    try {
      const swarm = { processes: 3, kills: 2, resets: 3, decisions: DECISIONS, traffic: TRAFFIC }
      const log = await runSwarm({ ...swarm, ...where(), prefix, store })
      const findings = findingsOf(TRAFFIC, log)
      expect(findings.flatMap(({ found }) => found.violations)).toEqual([])
      expect(outOfTime(log.decisions)).toEqual([])
      expect(log.decisions.length).toBeGreaterThanOrEqual(DECISIONS)
      expect(log.decisions.some(({ allowed }) => !allowed)).toBe(true)
      ending.abort()
      const moved = await disturbing
      expect(moved).toBeGreaterThan(3)
      console.info(
        `${log.decisions.length} decisions in ${name}, ${moved} moves; fullest window: ${findings
          .map(({ rule, found }) => `${rule.name} ${(found.fullest * 100).toFixed(1)} %`)
          .join(', ')}`,
      )
    } finally {
      ending.abort()
      await disturbing
      store.close()
    }
  },
)

/** Databases are added and removed so often, with a stage that ends each move. */
const MOVES = DECISIONS > 10_000 ? 32 : 4

it(
  'processes exceed no limit while databases are added and removed',
  { timeout: 1_800_000 },
  async () => {
    const where = { prefix: freshPrefix(), databaseUrls: databaseUrls() }
    const openStage = (stage: number) => openPlaces({ ...where, stage })
    const store = await openStage(0)
    try {
      const swarm = { processes: 3, kills: 2, resets: 3, decisions: DECISIONS, traffic: TRAFFIC }
      const log = await runSwarm({ ...swarm, ...where, store, openStage, moves: MOVES })
      const findings = findingsOf(TRAFFIC, log)
      expect(findings.flatMap(({ found }) => found.violations)).toEqual([])
      expect(outOfTime(log.decisions)).toEqual([])
      expect(log.decisions.length).toBeGreaterThanOrEqual(DECISIONS)
      console.info(
        `${log.decisions.length} decisions, ${MOVES} stages; fullest window: ${findings
          .map(({ rule, found }) => `${rule.name} ${(found.fullest * 100).toFixed(1)} %`)
          .join(', ')}`,
      )
    } finally {
      store.close()
    }
  },
)

/** The time for which a region is cut off: 30 s where it may take long. */
const CUT_MS = DECISIONS > 10_000 ? 30_000 : 3_000

it(
  'processes of two regions exceed no limit while one of them is cut off from home',
  { timeout: 1_800_000 },
  async () => {
    const [homeUrl, westUrl, eastUrl] = databaseUrls() as [string, string, string]
    const proxy = await tcpProxy(homeUrl)
    const cutUrl = homeUrl.replace(/:\d+/, `:${proxy.port}`)
    const east = { homeUrl: cutUrl, hereUrl: eastUrl }
    const regions = [{ homeUrl, hereUrl: westUrl }, east]
    const prefix = freshPrefix()
    const ending = new AbortController()
    const store = await openPlaces({ prefix, region: regions[0]! })
    const cutting = (async () => {
      let cuts = 0
      while (!ending.signal.aborted) {
        proxy.behaviour = {}
        proxy.release()
        await setTimeout(1_000)
        // A message that was sent arrives later, or its reply does.
        proxy.behaviour = cuts % 2 === 0 ? { request: () => false } : { reply: () => false }
        await setTimeout(CUT_MS, undefined, { signal: ending.signal }).catch(() => {})
        cuts += 1
      }
      proxy.behaviour = {}
      proxy.release()
      return cuts
    })()
    try {
      const swarm = { processes: 4, kills: 2, resets: 0, decisions: DECISIONS, traffic: TRAFFIC }
      // Until it was cut off twice, however fast the machine is.
      const until = Date.now() + 2 * (1_000 + CUT_MS)
      const log = await runSwarm({ ...swarm, prefix, regions, store, until, mayFail: true })
      ending.abort()
      const cuts = await cutting
      // Each region counts plain requests by itself.
      const findings = findingsOf(TRAFFIC, log).filter(({ rule }) => rule.name !== 'plain')
      expect(findings.flatMap(({ found }) => found.violations)).toEqual([])
      expect(outOfTime(log.decisions)).toEqual([])
      expect(cuts).toBeGreaterThan(1)
      console.info(
        `${log.decisions.length} decisions, ${cuts} cuts; fullest window: ${findings
          .map(({ rule, found }) => `${rule.name} ${(found.fullest * 100).toFixed(1)} %`)
          .join(', ')}`,
      )
    } finally {
      ending.abort()
      await cutting
      store.close()
      await proxy.close()
    }
  },
)

/** Limits that a quiet machine uses up for a part of each window, and a busy one not at all. */
const WIDE: Traffic = {
  ...TRAFFIC,
  limits: {
    everyone: 12_000,
    small: { rpm: 3_000, quota: 5_000 },
    large: { rpm: 6_000, quota: 8_000 },
    plain: 200,
  },
}

/** The longest time before a kill in which a write may not have reached the replica, in milliseconds. */
const LAG_MS = 250

it(
  'processes exceed a limit by no more than what a lost master had not passed on',
  { timeout: 1_800_000 },
  async () => {
    const prefix = freshPrefix()
    await using replicated = await startRedisCluster({ replicas: 1 })
    const clusterPorts = replicated.nodes.map(({ port }) => port)
    const store = await openPlaces({ prefix, clusterPorts })
    const ending = new AbortController()
    const kills: number[] = []
    const limiter = createLimiter({ store, ...limitsForSwarm(WIDE), onStoreError: 'deny' })
    // A master that allows nothing at the time has nothing to lose.
    const isAllowing = async (): Promise<boolean> => {
      const subject = { tenant: 't0', route: 'fast', plan: planAt(Date.now(), WIDE) }
      return (await limiter.peek(subject, { cost: 500 })).allowed
    }
    const { signal } = ending
    const killing = (async () => {
      for (const value of ['tenant=t0', 'home']) {
        await setTimeout(3_000, undefined, { signal })
        while (!(await isAllowing())) await setTimeout(20, undefined, { signal })
        kills.push(Date.now())
        const { failedOver } = await replicated.killMasterOf(slotOf(`${prefix}:{${value}}`))
        await failedOver
      }
    })()
    try {
      const swarm = { processes: 3, kills: 0, resets: 0, traffic: WIDE, mayFail: true }
      const until = Date.now() + 20_000
      const decisions = DECISIONS
      const log = await runSwarm({ ...swarm, decisions, until, prefix, clusterPorts, store })
      await killing
      // Units that a lost master had counted, and blocks that it had given, are allowed once more.
      const lost = log.decisions
        .filter(({ allowed, at }) =>
          kills.some((kill) => allowed && at >= kill - LAG_MS && at <= kill + WIDE.leaseMs),
        )
        .reduce((sum, { units }) => sum + units, 0)
      const findings = findingsOf(WIDE, log)
      const excesses = findings
        .flatMap(({ found }) => found.violations)
        .map((text) => {
          const [, used, limit] = /: (\d+) of (\d+)$/.exec(text) ?? []
          return Number(used) - Number(limit)
        })
      const excess = Math.max(0, ...excesses)
      expect(outOfTime(log.decisions)).toEqual([])
      expect(kills).toHaveLength(2)
      expect(lost).toBeGreaterThan(0)
      expect(excess).toBeLessThanOrEqual(lost)
      console.info(
        `${log.decisions.length} decisions, 2 masters lost: at most ${excess} units above a limit, of ${lost} that may be lost`,
      )
    } finally {
      ending.abort()
      await killing.catch(() => {})
      store.close()
    }
  },
)
