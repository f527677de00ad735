/* The findings of the checker in the log of a swarm, rule by rule. */
import { check, type Findings, type Rule } from './checker.ts'
import type { LoggedDecision } from './log.ts'
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

/** The clocks of Redis and of the processes are one, read in whole milliseconds. */
const ROUNDING_MS = 1

/** Finds allowed decisions whose time is not between the two that their process has read. */
export const outOfTime = (decisions: readonly LoggedDecision[]): LoggedDecision[] =>
  decisions.filter(
    ({ allowed, before, at, after }) =>
      allowed && (at < before - ROUNDING_MS || at > after + ROUNDING_MS),
  )
