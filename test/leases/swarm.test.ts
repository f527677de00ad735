import { describe, expect, it } from 'vitest'
import type { LoggedDecision } from './log.ts'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { findingsOf, outOfTime, type RuleFindings } from './findings.ts'
import { runSwarm, type SwarmLog } from './swarm.ts'
import { DAY_MS, SMALL_LIMITS, type Traffic } from './traffic.ts'

/** `npm run test:leases` makes a million decisions. */
const DECISIONS = Number(process.env['LEASE_DECISIONS'] ?? 6_000)
const isLarge = DECISIONS > 100_000
const SIZE = isLarge
  ? { processes: 4, kills: 20, resets: 30, midnightAfterMs: 40_000 }
  : { processes: 3, kills: 2, resets: 4, midnightAfterMs: 1_500 }

/** Limits that the processes reach, and windows that a busy machine fills, too. */
const TRAFFIC: Traffic = isLarge
  ? {
      tenants: 8,
      windowMs: 8_000,
      quotaMs: 12_000,
      leaseMs: 1_000,
      planMs: 10_000,
      turnMs: 400,
      limits: {
        everyone: 30_000,
        small: { rpm: 3_000, quota: 5_000 },
        large: { rpm: 6_000, quota: 8_000 },
        plain: 40,
      },
    }
  : {
      tenants: 4,
      windowMs: 2_000,
      quotaMs: 3_000,
      leaseMs: 200,
      planMs: 2_500,
      turnMs: 60,
      limits: SMALL_LIMITS,
    }

const own = ownRedisOverHttp()

describe.each(['by the clock of Redis', 'across midnight'])(
  `decisions of ${SIZE.processes} processes, some killed, with changing plans and resets, %s`,
  (time) => {
    const isMidnight = time === 'across midnight'
    const count = isMidnight ? DECISIONS / 4 : DECISIONS

    it('never let more than a limit through in any window', { timeout: 1_800_000 }, async () => {
      const midnight = Math.ceil(Date.now() / DAY_MS) * DAY_MS
      const shiftMs = midnight - SIZE.midnightAfterMs - Date.now()
      const traffic = isMidnight ? { ...TRAFFIC, quotaMs: DAY_MS, shiftMs } : TRAFFIC
      const log = await run(traffic, count, isMidnight ? midnight + TRAFFIC.windowMs : 0)
      const findings = findingsOf(traffic, log)
      expect(findings.flatMap(({ found }) => found.violations)).toEqual([])

      expect(outOfTime(log.decisions)).toEqual([])
      expect(log.decisions.length).toBeGreaterThanOrEqual(count)
      expect([log.killed, log.resets.length]).toEqual([SIZE.kills, SIZE.resets])
      // How many depends on the speed of the machine.
      const byLeaseLate = (one: LoggedDecision): boolean =>
        byLease(one) && (!isMidnight || one.at >= midnight)
      expect(log.decisions.some(byLeaseLate)).toBe(true)
      expect(log.decisions.some(byCache)).toBe(true)
      if (isLarge) report(log, findings)
    })
  },
)

const run = (traffic: Traffic, decisions: number, until: number): Promise<SwarmLog> => {
  const prefix = freshPrefix()
  const { url, token, redisUrl = '' } = own.local
  const { processes, kills, resets } = SIZE
  const redis = { prefix, rest: { url, token }, redisUrl, store: own.store(prefix) }
  return runSwarm({ processes, kills, resets, decisions, until, traffic, ...redis })
}

const byLease = ({ isLeased }: LoggedDecision): boolean => isLeased
const byCache = ({ isCached }: LoggedDecision): boolean => isCached

function report({ decisions, killed, resets }: SwarmLog, findings: readonly RuleFindings[]): void {
  const allowed = decisions.filter((one) => one.allowed)
  const [leased, cached] = [allowed.filter(byLease), decisions.filter(byCache)]
  const fullest = findings.map(
    ({ rule, found }) => `${rule.name} ${(found.fullest * 100).toFixed(1)} %`,
  )
  console.info(
    `${decisions.length} decisions, ${allowed.length} allowed (${leased.length} by leases), ${cached.length} denied by the cache, ${killed} processes killed, ${resets.length} resets
fullest window: ${fullest.join(', ')}; no violation`,
  )
}
