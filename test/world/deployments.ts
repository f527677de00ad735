/* The limits of a world's apps, drawn from its seed. */
import { isBucket, type Kind, type Rollout, type Rule } from './judges/rules.ts'
import type { Random } from './random.ts'
import { hasLines, hasPlaces, hasShares, type WrapperName } from './wrappers.ts'

const DAY_MS = 86_400_000

/** One version of an app's limits. */
export interface Deployment {
  readonly name: string
  readonly rules: readonly Rule[]
}

/** True if a policy of an app has a calendar. */
export const hasCalendars = (deployments: readonly Deployment[]): boolean =>
  deployments.some(({ rules }) => rules.some(({ calendar }) => calendar !== undefined))

/** True if an app sells credits. */
export const hasCredits = (deployments: readonly Deployment[]): boolean =>
  deployments.some(({ rules }) => rules.some(({ kind }) => kind === 'credits'))

const KINDS: Readonly<Record<Exclude<Kind, 'credits' | 'line' | 'share'>, number>> = {
  sliding: 5,
  log: 2,
  fixed: 2,
  daily: 1,
  monthly: 1,
  session: 1,
  counter: 2,
  token: 2,
  interval: 1,
  leaky: 1,
  slots: 1,
}

/** Policies that may have stripes here: a bucket's judge knows one limit only. */
const STRIPED = new Set<Kind>(['sliding', 'fixed', 'daily', 'counter'])

/** Returns what the stores of a world change in its deployments. */
export function changeFor(wrappers: WrapperName): (deployment: Deployment) => Deployment {
  if (hasPlaces(wrappers)) return byTenant
  if (hasLines(wrappers)) return withLines
  return hasShares(wrappers) ? withShares : (deployment) => deployment
}

/** Puts a line before each policy that can have one. */
const withLines = ({ name, rules }: Deployment): Deployment => ({
  name,
  rules: rules.flatMap((rule) => {
    const { kind, leaseMs, log, waitMs } = rule
    const isIdle = kind === 'session' && rule.lengthMs !== rule.windowMs
    const isUntimed = kind === 'slots' || isIdle || log !== undefined
    if (isUntimed || leaseMs > 0 || waitMs > 0) return [rule]
    const limit = { ...rule, stripes: 1 }
    return [limit, { ...limit, kind: 'line' as const, name: `${rule.name}.line` }]
  }),
})

/** The policies that can be shared. */
const SHAREABLE = new Set<Kind>(['sliding', 'counter'])

/** Has all tenants share each limit that can be shared, every second one with guarantees and a headroom. */
const withShares = ({ name, rules }: Deployment): Deployment => ({
  name,
  rules: rules.flatMap((rule, index) => {
    if (!SHAREABLE.has(rule.kind) || rule.leaseMs > 0) return [rule]
    const rollout = rule.rollout && { ...rule.rollout, by: 'request' as const }
    const limit: Rule = { ...rule, per: 'global', stripes: 1, rollout }
    const least = Math.min(
      ...(typeof rule.limit === 'number' ? [rule.limit] : Object.values(rule.limit)),
    )
    const [headroom, guarantee] = [Math.ceil(least / 10), Math.floor(least / 8)]
    const more = index % 2 === 1 && headroom > 0 ? { headroom, guarantee } : {}
    return [limit, { ...limit, kind: 'share' as const, name: `${rule.name}.share`, ...more }]
  }),
})

/** Places count by tenant, but for what is leased. */
const byTenant = ({ name, rules }: Deployment): Deployment => ({
  name,
  rules: rules.map((rule): Rule => {
    if (rule.leaseMs > 0) return { ...rule, per: 'global' }
    return rule.per === 'global' ? { ...rule, per: ['tenant'] } : rule
  }),
})

/** A deployed app, and perhaps another that runs beside it: one policy less, one more, or one that has changed. */
export function deploymentsOf(rules: readonly Rule[], random: Random): Deployment[] {
  const now = { name: 'now', rules }
  if (random.chance(0.5)) return [now]
  const [first, ...rest] = rules as [Rule, ...Rule[]]
  const changed = random.pick<readonly Rule[]>([
    rest.length > 0 && rest.every(({ log }) => log !== first.log || log === undefined)
      ? rest
      : rules,
    [...rules, ruleOf(random, 'added', 'sliding', 'request')],
    rules.toReversed().every(({ log }) => log === undefined) ? rules.toReversed() : rules,
  ])
  return [now, { name: 'next', rules: changed }]
}

/** Rolls some policies out, in each deployment alike. Leased units serve everyone. */
export function rolledOut(deployments: readonly Deployment[], random: Random): Deployment[] {
  const rollouts = new Map<string, Rollout>()
  for (const { rules } of deployments) {
    for (const { name, per, leaseMs, log } of rules) {
      if (leaseMs > 0 || log !== undefined || rollouts.has(name) || !random.chance(0.25)) continue
      const [enabled, enforced] = [random.pick([0, 50, 100, 100]), random.pick([0, 50, 50, 100])]
      // One partition is selected whole, or not at all.
      const by = random.pick<Rollout['by']>(
        per === 'global' ? ['request'] : ['partition', 'request'],
      )
      rollouts.set(name, { enabled, enforced, by })
    }
  }
  return deployments.map(({ name, rules }) => ({
    name,
    rules: rules.map((rule) => ({ ...rule, rollout: rollouts.get(rule.name) })),
  }))
}

export function rulesOf(random: Random, isLeased: boolean): Rule[] {
  const rules: Rule[] = []
  const count = random.whole(1, 4)
  for (let number = 0; number < count; number += 1) {
    const kind = random.weighted(KINDS)
    const unit = kind === 'slots' ? 'call' : random.pick(['request', 'request', 'token', 'usd'])
    const rule = ruleOf(random, `p${number}`, kind, unit)
    if (kind === 'log') rules.push(...logOf(random, rule))
    else rules.push(rule)
  }
  if (isLeased) {
    const kind = random.pick(['sliding', 'fixed', 'daily'] as const)
    const rule = ruleOf(random, 'leased', kind, 'request')
    const leaseMs = Math.min(random.pick([500, 1_000, 3_000]), rule.windowMs)
    const windowMs = kind === 'sliding' ? rule.windowMs + leaseMs : rule.windowMs
    const limit = random.whole(10, 200)
    const more = { limit, leaseMs, windowMs, longestMs: windowMs, enforced: true, stripes: 1 }
    const leased = { ...rule, ...more }
    // By itself, so that most decisions need no Redis; or beside others.
    if (random.chance(0.5)) return [leased]
    rules.push(leased)
  }
  return rules
}

export function ruleOf(random: Random, name: string, kind: Kind, unit: string): Rule {
  const segments = kind === 'counter' ? random.pick([1, 2, 5]) : 1
  const windowMs =
    kind === 'daily'
      ? DAY_MS
      : kind === 'monthly'
        ? 31 * DAY_MS
        : random.pick([1_000, 5_000, 10_000, 60_000])
  const scale = unit === 'token' ? 100 : unit === 'usd' ? 1_000 : 1
  const limit = random.chance(0.03) ? 0 : random.whole(1, random.pick([3, 10, 30])) * scale
  const byPlan = !isBucket({ kind } as Rule) && kind !== 'slots' && random.chance(0.3)
  const rule: Rule = {
    name,
    kind,
    limit: byPlan ? { free: limit, pro: limit * 2 } : limit,
    windowMs,
    longestMs: windowMs,
    per: random.pick<Rule['per']>([['tenant'], ['tenant'], ['tenant', 'route'], 'global']),
    unit,
    enforced: random.chance(0.85),
    rollout: undefined,
    burst: random.whole(1, 20) * scale,
    segments,
    waitMs: kind === 'leaky' ? random.pick([0, 1_000]) : 0,
    stripes: STRIPED.has(kind) ? random.pick([1, 1, 1, 2, 4]) : 1,
    log: undefined,
    leaseMs: 0,
  }
  return kind === 'session' ? { ...rule, ...lengthOf(rule) } : rule
}

/** A session that ends by a pause, by its length, or by the first of both: equally often, and not by another draw. */
function lengthOf({ windowMs, burst }: Rule): Pick<Rule, 'lengthMs'> {
  return [{}, { lengthMs: windowMs }, { lengthMs: 1.5 * windowMs }][burst % 3] ?? {}
}

/** Two windows over one log. */
function logOf(random: Random, rule: Rule): Rule[] {
  const longestMs = rule.windowMs * random.whole(2, 6)
  const limit = typeof rule.limit === 'number' ? rule.limit : (rule.limit['free'] ?? 1)
  const common = { ...rule, longestMs, log: rule.name, enforced: true }
  return [
    { ...common, name: `${rule.name}.short`, limit },
    { ...common, name: `${rule.name}.long`, limit: limit * 2, windowMs: longestMs },
  ]
}
