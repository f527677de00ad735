/* What a world consists of, drawn from its seed. */
import { weatherOf, type Weather } from './faults.ts'
import { isBucket, type Kind, type Rollout, type Rule } from './judges/rules.ts'
import type { Random } from './random.ts'

/** The stores around the store of an isolate, the outermost first. */
export const WRAPPERS = {
  plain: [],
  pipelined: ['pipelined'],
  batched: ['batched'],
  cached: ['cached'],
  'cached, batched': ['cached', 'batched'],
  leased: ['leased'],
  'leased, batched': ['leased', 'batched'],
  'cached, leased': ['cached', 'leased'],
  breaker: ['breaker'],
  'leased, cached, breaker, batched': ['leased', 'cached', 'breaker', 'batched'],
  objects: [],
  'objects, cached': ['cached'],
  'objects, breaker': ['breaker'],
  sharded: [],
  'sharded, cached': ['cached'],
  'sharded, moving': [],
  'sharded, moving, cached': ['cached'],
  waiting: [],
  'waiting, cached': ['cached'],
  'waiting, batched': ['batched'],
  regional: [],
  'regional, cached': ['cached'],
} as const

/** True if Durable Objects count, instead of a Redis. */
export const isInObjects = (wrappers: WrapperName): boolean => wrappers.startsWith('objects')

/** True if several databases count. */
export const isSharded = (wrappers: WrapperName): boolean => wrappers.startsWith('sharded')

/** True if a database is added, or removed, in the middle. */
export const isMoving = (wrappers: WrapperName): boolean => wrappers.includes('moving')

/** True if two regions share what a third database counts. */
export const isRegional = (wrappers: WrapperName): boolean => wrappers.startsWith('regional')

/** True if each tenant has a place, and what is leased is counted in one for all. */
export const hasPlaces = (wrappers: WrapperName): boolean =>
  isInObjects(wrappers) || isSharded(wrappers) || isRegional(wrappers)

/** True if policies have lines, in which some requests wait. */
export const hasLines = (wrappers: WrapperName): boolean => wrappers.startsWith('waiting')

/** The stores that are one Redis. */
export const IN_REDIS: readonly WrapperName[] = (Object.keys(WRAPPERS) as WrapperName[]).filter(
  (name) => !hasPlaces(name) && !hasLines(name),
)

export type WrapperName = keyof typeof WRAPPERS

type OnStoreError = 'default' | 'local' | 'share' | 'allow' | 'deny'

/** One version of an app's limits. */
export interface Deployment {
  readonly name: string
  readonly rules: readonly Rule[]
}

export interface Setting {
  readonly seed: number
  readonly startMs: number
  readonly isUpstash: boolean
  readonly weather: Weather
  readonly wrappers: WrapperName
  readonly onStoreError: OnStoreError
  readonly timeoutMs: number
  readonly deployments: readonly Deployment[]
  readonly isolates: number
  /** Milliseconds between the calls of an isolate. */
  readonly gapMs: number
  /** Decisions in flight at the same moment are likelier the higher it is. */
  readonly burst: number
  readonly tenants: readonly string[]
  readonly routes: readonly string[]
  readonly plans: readonly string[]
  /** The time within which a reservation is settled. */
  readonly settleWithinMs: number
  /** True if reservations are given back when nobody settles them. */
  readonly releases: boolean
  readonly hasServers: boolean
  /** True if limits are changed while it runs. */
  readonly configures: boolean
  /** The most partitions of which leases are held, or denials remembered. */
  readonly maxPartitions: number
  /** True if leases serve reservations, too. */
  readonly leasesCalls: boolean
  /** True if plans are looked up, instead of being known to the caller. */
  readonly looksUpPlans: boolean
}

const DAY_MS = 86_400_000

/** Tenants whose names are hard on keys, errors and headers. Each has a part that judges look for where no id may be. */
const TENANTS = [
  'acme-7Qx',
  'org:1-7Qx',
  'org%3A1-7Qx',
  'a=b{c}d-7Qx',
  'zoë ✓-7Qx',
  `long-${'x'.repeat(200)}-7Qx`,
  'constructor-7Qx',
]

/** The part of every tenant's name that must not be seen in errors and logs. */
export const SECRET = '7Qx'

const KINDS: Readonly<Record<Exclude<Kind, 'line'>, number>> = {
  sliding: 5,
  packed: 2,
  coarse: 2,
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

/** What may have stripes here: a bucket's judge knows one limit only. */
const STRIPED = new Set<Kind>(['sliding', 'packed', 'coarse', 'fixed', 'daily', 'counter'])

/** Draws a world. Options replace what would be drawn, and change no other draw. */
export function settingOf(seed: number, random: Random, options: Partial<Setting> = {}): Setting {
  const weather = weatherOf(random.fork('weather'))
  const wrappers = random.fork('wrappers').pick(IN_REDIS)
  const chosen = options.wrappers ?? wrappers
  const ruling = random.fork('rules')
  const inPlaces = hasPlaces(chosen)
  const first = rulesOf(ruling, inPlaces || WRAPPERS[chosen].includes('leased' as never))
  const others = random.fork('others')
  const rolling = random.fork('rollouts')
  const deployments = rolledOut(deploymentsOf(first, ruling), rolling)
  return {
    seed,
    startMs: startOf(random.fork('start')),
    isUpstash: others.chance(0.5),
    weather,
    wrappers,
    onStoreError: others.pick(['default', 'local', 'share', 'allow', 'deny', 'deny'] as const),
    timeoutMs: others.pick([50, 200, 1_000]),
    deployments: deployments.map(inPlaces ? byTenant : hasLines(chosen) ? withLines : same),
    isolates: others.whole(1, 5),
    gapMs: others.pick([5, 20, 100, 400]),
    burst: others.pick([1, 1, 3, 10]),
    tenants: TENANTS.slice(0, others.whole(1, TENANTS.length)),
    routes: ['x', 'y'],
    plans: ['free', 'pro'],
    settleWithinMs: others.pick([2_000, 20_000]),
    releases: others.chance(0.4),
    hasServers: others.chance(0.7),
    configures: others.chance(0.3),
    looksUpPlans: others.chance(0.3),
    maxPartitions: others.pick([1, 3, 1_000, 1_000]),
    leasesCalls: others.chance(0.6),
    ...(inPlaces && { leasesCalls: true, releases: false }),
    ...options,
  }
}

const same = (deployment: Deployment): Deployment => deployment

/** Puts a line before each policy that can have one. */
const withLines = ({ name, rules }: Deployment): Deployment => ({
  name,
  rules: rules.flatMap((rule) => {
    const { kind, leaseMs, log, waitMs } = rule
    const isUntimed = kind === 'slots' || kind === 'session' || log !== undefined
    if (isUntimed || leaseMs > 0 || waitMs > 0) return [rule]
    const limit = { ...rule, stripes: 1 }
    return [limit, { ...limit, kind: 'line' as const, name: `${rule.name}.line` }]
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

/** A moment at any time of the day, or shortly before the end of a day or of a month. */
function startOf(random: Random): number {
  const day = Date.UTC(random.whole(2024, 2030), random.whole(0, 11), random.whole(1, 28))
  if (random.chance(0.4)) return day + random.whole(0, DAY_MS - 1)
  const date = new Date(day)
  const end = random.chance(0.5)
    ? day + DAY_MS
    : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
  return end - random.whole(1, 20_000)
}

/** A deployed app, and perhaps another that runs beside it: one policy less, one more, or one that has changed. */
function deploymentsOf(rules: readonly Rule[], random: Random): Deployment[] {
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

/** Rolls some policies out, in each deployment alike. What is leased serves everyone. */
function rolledOut(deployments: readonly Deployment[], random: Random): Deployment[] {
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

function rulesOf(random: Random, isLeased: boolean): Rule[] {
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

function ruleOf(random: Random, name: string, kind: Kind, unit: string): Rule {
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
    maxError: random.pick([0.02, 0.1, 0.5]),
    stripes: STRIPED.has(kind) ? random.pick([1, 1, 1, 2, 4]) : 1,
    log: undefined,
    leaseMs: 0,
  }
  return rule
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
