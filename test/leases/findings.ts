/* What the checker finds in the log of a swarm, rule by rule. */
import { check, type Findings, type Rule } from './checker.ts'
import type { SwarmLog } from './swarm.ts'
import type { Traffic } from './traffic.ts'

export interface RuleFindings {
  readonly rule: Rule
  readonly found: Findings
}

export function findingsOf(traffic: Traffic, { decisions, resets }: SwarmLog): RuleFindings[] {
  const { windowMs, quotaMs, leaseMs, limits, shiftMs } = traffic
  const limitOf =
    (name: 'rpm' | 'quota'): Rule['limitOf'] =>
    ({ plan }) =>
      limits[plan === 'small' ? 'small' : 'large'][name]
  const isCallersTime = shiftMs !== undefined
  const sliding = { windowMs, isAligned: false, isGlobal: false, leaseMs, isCallersTime }
  const rules: Rule[] = [
    { ...sliding, name: 'everyone', isGlobal: true, limitOf: () => limits.everyone },
    { ...sliding, name: 'rpm', limitOf: limitOf('rpm') },
    { ...sliding, name: 'quota', windowMs: quotaMs, isAligned: true, limitOf: limitOf('quota') },
    { ...sliding, name: 'plain', leaseMs: 0, route: 'plain', limitOf: () => limits.plain },
  ]
  return rules.map((rule) => ({ rule, found: check(rule, decisions, resets) }))
}
