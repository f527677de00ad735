/* Makes the limiters of an isolate from plain data. */
import type { Policy, Store } from '@sluice/core'
import type { Exports, Isolate } from './isolate.ts'
import { mayBeConfigured } from './callers.ts'
import { ELSEWHERE } from './judges/periods.ts'
import { isBeside, type Calendar, type Rule } from './judges/rules.ts'
import { isMoving, isRegional, isSharded, WRAPPERS } from './wrappers.ts'
import type { Deployment } from './deployments.ts'
import type { Setting } from './setting.ts'
import type { WorldFetch } from './isolate.ts'

export type Limiter = ReturnType<Exports['core']['createLimiter']>

/** The longest that the app's database of plans may take, in milliseconds. */
export const PLAN_MS = 300

/** The network of an isolate. */
export interface Wire {
  readonly send: WorldFetch
  /** Called with the id of each check, before calls are joined in one request; of choices, with that of each. */
  readonly onSend: (ids: readonly string[]) => void
  /** The binding of objects, if these count. */
  readonly namespace?: unknown
  /** The region that it is in, and whether that is cut off from home. */
  readonly region: 'r1' | 'r2'
  readonly isCut: () => boolean
  /** True if it is of a deploy after which databases have changed. */
  readonly isMoved?: boolean
}

/** The reports of a limiter. */
export interface Hearing {
  /** The clock to decide by, instead of that of Redis. */
  readonly clock: (() => number) | undefined
  /** The app's database of plans. */
  readonly planOf: (tenant: string) => Promise<string>
  readonly problem: (code: string, message: string) => void
}

/** Creates the limiter of a deployment. */
export function makeLimiter(
  { product }: Isolate,
  deployment: Deployment,
  setting: Setting,
  wire: Wire,
  hearing: Hearing,
): Limiter {
  const { core } = product
  const onStoreError = {
    default: undefined,
    local: 'local' as const,
    share: core.localShare(0.2),
    allow: 'allow' as const,
    deny: 'deny' as const,
  }[setting.onStoreError]
  const plans = core.definePlans(
    Object.fromEntries(
      setting.plans.map((plan, index) => [
        plan,
        { weight: 1 + 2 * index, ...limitsOf(plan, deployment.rules) },
      ]),
    ),
  )
  const allowed = deployment.rules
    .filter(mayBeConfigured)
    .map(({ name }) => [name, ['limit', 'mode'] as const] as const)
  return core.createLimiter({
    store: storeOf(product, deployment, setting, wire),
    plans,
    policies: policiesOf(product, deployment.rules),
    extensions: [
      core.listen({ problem: ({ code, message }) => hearing.problem(code, message) }),
      ...(setting.configures && allowed.length > 0
        ? [product.configuration.runtimeConfiguration({ allow: Object.fromEntries(allowed) })]
        : []),
      ...(setting.looksUpPlans
        ? [product.plans.planResolver(hearing.planOf, { cacheFor: '20s', timeoutMs: PLAN_MS })]
        : []),
    ],
    ...(onStoreError && { onStoreError }),
    ...(hearing.clock && { clock: hearing.clock }),
  })
}

function storeOf(
  product: Exports,
  { rules }: Deployment,
  { seed, wrappers, timeoutMs, maxPartitions, leasesCalls }: Setting,
  { send, onSend, namespace, region, isCut, isMoved = false }: Wire,
) {
  const names: readonly string[] = WRAPPERS[wrappers]
  const direct = send as never as NonNullable<
    NonNullable<Parameters<Exports['upstash']>[0]>['fetch']
  >
  const inRedis = (prefix: string, mayBeCut = false): Store => {
    const inner = product.upstash({
      url: 'https://redis.world',
      token: 'secret',
      timeoutMs,
      prefix,
      fetch: (url, init) => (mayBeCut && isCut() ? lost(init.signal) : direct(url, init)),
      pipeline: names.includes('pipelined'),
    })
    return {
      ...inner,
      check(request) {
        onSend(request.alternatives?.all.map(({ id }) => id) ?? [request.id])
        return inner.check(request)
      },
    }
  }
  const leases = product.placeLeases
  const changes = { ...(isMoving(wrappers) && changesOf(product, seed % 2 === 0, isMoved)), leases }
  let store: ReturnType<Exports['memory']> = namespace
    ? product.objects.durableObjects(namespace as never, { timeoutMs })
    : isRegional(wrappers)
      ? product.regional({
          home: inRedis('home', true),
          here: inRedis(region),
          perRegion: namesOf(rules.filter(({ leaseMs }) => leaseMs === 0)),
        })
      : isSharded(wrappers)
        ? product.sharded({ a: inRedis('a'), b: inRedis('b'), c: inRedis('c') }, changes)
        : inRedis('sluice')
  for (const name of names.toReversed()) {
    if (name === 'breaker') store = product.breaker(store, { failures: 3, pauseMs: 500 })
    if (name === 'batched') store = product.batched(store)
    if (name === 'leased') {
      const { leased, reserveFromLeases } = product.leases
      const options = { maxLeases: maxPartitions }
      store = leasesCalls
        ? leased(store, { ...options, reservations: reserveFromLeases })
        : leased(store, options)
    }
    if (name === 'cached') store = product.cacheDenials(store, { maxPartitions })
  }
  return store
}

/** The names of policies: windows of one log have one. */
const namesOf = (rules: readonly Rule[]): string[] => rules.map(({ name }) => name)

/** A request that never arrives. */
const lost = (signal: AbortSignal | undefined): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('aborted')))
  })

/** The options of several databases before and after one of them is added, or removed. */
function changesOf({ movedFrom }: Exports, isAdded: boolean, isMoved: boolean) {
  const weights = { c: isAdded === isMoved ? 1 : 0 }
  const stores = isAdded ? ['a', 'b'] : ['a', 'b', 'c']
  return isMoved ? { weights, from: movedFrom({ stores }) } : { weights }
}

const limitsOf = (plan: string, rules: readonly Rule[]): Record<string, number> =>
  Object.fromEntries(
    rules.flatMap((rule) =>
      typeof rule.limit === 'number' || isBeside(rule)
        ? []
        : [[keyOf(rule.name), rule.limit[plan] ?? 0]],
    ),
  )

const keyOf = (name: string): string => name.replace('.', '_')

function policiesOf(product: Exports, rules: readonly Rule[]): Policy[] {
  return rules.flatMap((rule): Policy[] => {
    const policies = policiesOfRule(product, rule, rules)
    const share = rules.find(({ kind, name }) => kind === 'share' && name === `${rule.name}.share`)
    if (share) return policies.map((policy) => shared(product, policy, share))
    if (!rules.some(({ kind, name }) => kind === 'line' && name === `${rule.name}.line`)) {
      return policies
    }
    const { waitingLine } = product.waiting
    const between = rule.per === 'global' && { between: ['tenant'] }
    return policies.map((policy) => waitingLine(policy, { maxWaiting: 6, ...between }))
  })
}

const shared = ({ fairShare }: Exports, policy: Policy, { headroom, guarantee }: Rule): Policy =>
  fairShare(policy as Policy<string, string, 'weight'>, {
    between: ['tenant'],
    weight: ({ plan }) => plan.weight,
    ...(headroom !== undefined && { headroom }),
    ...(guarantee !== undefined && { guarantee }),
  })

/** The end of a session: its idle time alone, its length alone, or both. */
function endOfSession({ windowMs, lengthMs }: Rule): object {
  const idle = lengthMs === windowMs ? {} : { idle: `${windowMs}ms` }
  return lengthMs === undefined ? idle : { ...idle, length: `${lengthMs}ms` }
}

const WEEKDAYS = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const

/** The days or weeks of a calendar, in the zone of everyone or of each tenant. */
function inCalendar(
  { core, calendar }: Exports,
  { zones, hour, weekday }: Calendar,
  options: (more: object) => never,
): Policy {
  const [home, elsewhere] = zones
  const zone = elsewhere
    ? ({ tenant }: { tenant?: string }) => (tenant?.startsWith(ELSEWHERE) ? elsewhere : home)
    : home
  if (weekday === undefined) {
    return core.dailyCap(options({ resets: calendar({ zone, on: { hour } }) }))
  }
  const on = { weekday: WEEKDAYS[weekday] ?? 'sunday', hour }
  return core.fixedWindow(options({ resets: calendar({ every: 'week', zone, on }) }))
}

function policiesOfRule(product: Exports, rule: Rule, rules: readonly Rule[]): Policy[] {
  const { core, leases } = product
  const { kind, name, per, unit, enforced, burst, segments, waitMs, leaseMs, log } = rule
  const rollout = rule.rollout && core.rollout(rule.rollout)
  const mode = enforced ? ('enforce' as const) : ('shadow' as const)
  const limit = limitOf(rule)
  const stripes = rule.stripes > 1 && { stripes: rule.stripes }
  const common = { name, limit, per, unit, mode, ...(rollout && { rollout }), ...stripes }
  const window = `${rule.windowMs}ms`
  const options = (more: object): never => ({ ...common, ...more }) as never
  switch (kind) {
    case 'sliding':
    case 'fixed':
    case 'daily': {
      if (leaseMs === 0 && kind === 'sliding') return [core.slidingWindow(options({ window }))]
      if (leaseMs === 0 && kind === 'fixed') return [core.fixedWindow(options({ window }))]
      if (rule.calendar) return [inCalendar(product, rule.calendar, options)]
      if (leaseMs === 0) return [core.dailyCap(options({}))]
      const counted =
        kind === 'sliding'
          ? core.slidingWindow(options({ window: `${rule.windowMs - leaseMs}ms` }))
          : kind === 'fixed'
            ? core.fixedWindow(options({ window }))
            : core.dailyCap(options({}))
      return [leases.lease(counted, { duration: `${leaseMs}ms` })]
    }
    case 'monthly':
      return [core.monthlyCap(options({}))]
    case 'session':
      return [core.sessionWindow(options(endOfSession(rule)))]
    case 'counter':
      return [core.slidingWindowCounter(options({ window, segments }))]
    case 'token':
      return [core.tokenBucket(options({ window, burst }))]
    case 'interval':
      return [core.tokenBucket(options({ window, burst, refill: 'interval' }))]
    case 'leaky':
      return [
        core.leakyBucket(options({ window, burst, wait: waitMs > 0 ? `${waitMs}ms` : false })),
      ]
    case 'slots': {
      const { unit: _, ...own } = options({ maxDuration: window }) as { unit: string }
      return [core.concurrency(own as never) as Policy]
    }
    case 'credits': {
      const unsettled = rule.releases ? 'release' : 'keep'
      const own = { name, per, unit, mode, unsettled, ...(rollout && { rollout }) }
      const { ledger } = rule
      return [product.credits.credits({ ...own, ...(ledger && { ledger }) } as never)]
    }
    case 'line':
    case 'share':
      return []
    case 'log':
    default: {
      const together = rules.filter((other) => other.log === log)
      if (together[0] !== rule) return []
      const windows = Object.fromEntries(
        together.map((one) => [
          one.name.slice(`${log}.`.length),
          { limit: limitOf(one), window: `${one.windowMs}ms` },
        ]),
      )
      const { limit: _, ...own } = options({ name: log, windows }) as { limit: unknown }
      return [core.slidingWindows(own as never)]
    }
  }
}

const limitOf = ({ name, limit }: Rule): unknown =>
  typeof limit === 'number'
    ? limit
    : ({ plan }: { plan: Record<string, number> }) => plan[keyOf(name)]
