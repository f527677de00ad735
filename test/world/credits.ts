/* Balances of credits that a world's apps sell, drawn from its seed. */
import { ruleOf, type Deployment } from './deployments.ts'
import type { Rule } from './judges/rules.ts'
import type { Random } from './random.ts'

/** The units of a small grant. */
const SCALES = { request: 1, token: 100, usd: 1_000 }

/** Adds credits to each app: the same balances, also if one has given their policy another name. */
export function withCredits(deployments: readonly Deployment[], random: Random): Deployment[] {
  if (!random.chance(0.8)) return [...deployments]
  const unit = random.pick(['usd', 'usd', 'token', 'request'] as const)
  const per = random.pick([['tenant'], ['tenant'], ['tenant', 'route']])
  const rule: Rule = {
    ...ruleOf(random, 'credits', 'credits', unit),
    limit: 0,
    windowMs: 0,
    longestMs: 0,
    per,
    burst: random.whole(10, 30) * SCALES[unit],
  }
  return deployments.map(({ name, rules }) => {
    const isRenamed = random.chance(0.3)
    const own = isRenamed ? { ...rule, name: 'money', ledger: 'credits' } : rule
    return { name, rules: random.chance(0.5) ? [own, ...rules] : [...rules, own] }
  })
}
