import { describe, expect, it } from 'vitest'
import { ownRedis } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { check, type Findings, type Rule } from './checker.ts'
import { runSwarm } from './swarm.ts'
import { GRID, LEASE, limitsOf, WINDOW } from './traffic.ts'

/** `npm run test:leases` asks for a million decisions. */
const DECISIONS = Number(process.env['LEASE_DECISIONS'] ?? 6_000)
const isLarge = DECISIONS > 100_000
const SIZE = isLarge ? 1 : 0.1
const PROCESSES = isLarge ? 4 : 3

/** The clocks of Redis and of the processes are one, read in whole milliseconds. */
const ROUNDING_MS = 1

const limits = limitsOf(SIZE)
const limitOf =
  (name: 'rpm' | 'quota'): Rule['limitOf'] =>
  ({ plan }) =>
    limits[plan === 'small' ? 'small' : 'large'][name]
const sliding = { windowMs: WINDOW, isAligned: false, isGlobal: false, leaseMs: LEASE }
const RULES: Rule[] = [
  { ...sliding, name: 'everyone', isGlobal: true, limitOf: () => limits.everyone },
  { ...sliding, name: 'rpm', limitOf: limitOf('rpm') },
  { ...sliding, name: 'quota', windowMs: GRID, isAligned: true, limitOf: limitOf('quota') },
  { ...sliding, name: 'plain', leaseMs: 0, route: 'plain', limitOf: () => limits.plain },
]

const own = ownRedis()

describe(`${DECISIONS} decisions of ${PROCESSES} processes, some killed, with changing plans and resets`, () => {
  it('never let more than a limit through in any window', { timeout: 1_800_000 }, async () => {
    const prefix = freshPrefix()
    const { url, token, redisUrl = '' } = own.local
    const { decisions, resets, killed } = await runSwarm({
      processes: PROCESSES,
      decisions: DECISIONS,
      tenants: isLarge ? 8 : 4,
      size: SIZE,
      kills: isLarge ? 20 : 2,
      resets: isLarge ? 30 : 4,
      prefix,
      rest: { url, token },
      redisUrl,
      store: own.store(prefix),
    })
    expect(decisions.length).toBeGreaterThanOrEqual(DECISIONS)
    const allowed = decisions.filter((one) => one.allowed)
    // Each time that counts lies between the two that its process has read.
    const strange = allowed.filter(
      ({ before, at, after }) => at < before - ROUNDING_MS || at > after + ROUNDING_MS,
    )
    expect(strange).toEqual([])
    const findings = RULES.map((rule) => ({ rule, found: check(rule, decisions, resets) }))
    expect(findings.flatMap(({ found }) => found.violations)).toEqual([])

    // How much of it leases serve depends on the speed of the machine.
    const fromLeases = allowed.filter((one) => one.isLeased)
    expect(fromLeases.length).toBeGreaterThan(0)
    expect([killed, resets.length]).toEqual(isLarge ? [20, 30] : [2, 4])
    report({
      decisions: decisions.length,
      allowed: allowed.length,
      fromLeases: fromLeases.length,
      killed,
      findings,
    })
  })
})

function report(facts: {
  decisions: number
  allowed: number
  fromLeases: number
  killed: number
  findings: readonly { rule: Rule; found: Findings }[]
}): void {
  if (!isLarge) return
  const fullest = facts.findings.map(
    ({ rule, found }) => `${rule.name} ${(found.fullest * 100).toFixed(1)} %`,
  )
  console.info(
    `${facts.decisions} decisions, ${facts.allowed} allowed (${facts.fromLeases} by leases), ${facts.killed} processes killed`,
  )
  console.info(`fullest window: ${fullest.join(', ')}`)
}
