import type { Decision, PolicyState } from '@sluice/core'
import type { Call } from '../call.ts'
import type { PolicySet } from './policy-set.ts'
import type { PolicyReport, SeriesName, SetReport, TenantReport, Use } from './report-types.ts'
import { collectDemand } from './demand.ts'
import { createShadowTally } from './shadow-tally.ts'
import { createTimeSeries } from './time-series.ts'

/** A `Use` under construction. */
type Sum = { -readonly [Name in keyof Use]: Use[Name] }

/** Denials with their times, under construction. */
interface Denials {
  count: number
  firstAt: number
  lastAt: number
}

interface TenantTally extends Denials {
  plan: string | undefined
  readonly used: Sum
  readonly denied: Sum
  readonly policies: Record<string, number>
}

interface PolicyTally extends Denials {
  readonly tenants: Set<string>
  calls: number
  fullest: number
}

/** Collects the decisions of one set of limits. */
export interface Recorder {
  add(call: Call, usd: number, decision: Decision): void
  /** @param normal Returns true if a tenant is normal. `undefined` judges by the tenants' use. */
  report(spanMs: number, normal: ((tenant: string) => boolean) | undefined): SetReport
}

const SERIES: readonly SeriesName[] = [
  'allowed',
  'denied',
  'allowedTokens',
  'deniedTokens',
  'allowedUsd',
  'deniedUsd',
]

/** Creates an empty recorder. */
export function createRecorder({ name, rules, omitted }: PolicySet): Recorder {
  const used = noUse()
  const denied = noUse()
  let delayed = 0
  const tenants = new Map<string, TenantTally>()
  const policies = new Map<string, PolicyTally>(
    rules.map((rule) => [rule.name, { ...noDenials(), tenants: new Set(), calls: 0, fullest: 0 }]),
  )
  const series = createTimeSeries(SERIES)
  const demand = collectDemand(rules)
  const shadow = createShadowTally()

  function addDenial({ at, subject }: Call, use: Use, tally: TenantTally, policy: string): void {
    addUse(denied, use)
    addUse(tally.denied, use)
    note(tally, at)
    tally.policies[policy] = (tally.policies[policy] ?? 0) + 1
    const policyTally = policies.get(policy) as PolicyTally
    note(policyTally, at)
    policyTally.tenants.add(subject.tenant)
  }

  return {
    add(call, usd, decision) {
      const use = { calls: 1, tokens: call.units['token'] ?? 0, usd }
      let tally = tenants.get(call.subject.tenant)
      if (tally === undefined) tenants.set(call.subject.tenant, (tally = noTally()))
      tally.plan = decision.plan
      addUse(used, use)
      addUse(tally.used, use)
      series.add(call.at, amountsOf(decision.allowed, use))
      demand.add(call, decision)
      for (const state of decision.policies) noteUse(policies.get(state.name), state)
      if (decision.delayMs > 0) delayed += 1
      shadow.add(call.subject.tenant, use, decision)
      if (decision.violated) addDenial(call, use, tally, decision.violated.name)
    },

    report(spanMs, isNormal) {
      const excessive = isNormal ? undefined : demand.excessive(spanMs)
      const normal = isNormal ?? ((tenant) => excessive?.has(tenant) === false)
      const list = [...tenants]
        .filter(([, { count }]) => count > 0)
        .toSorted(([, a], [, b]) => b.count - a.count)
        .map(([tenant, tally]) => tenantReport(tenant, tally))
      return {
        name,
        used,
        denied,
        delayed,
        policies: rules.map((rule) => policyReport(rule, policies.get(rule.name) as PolicyTally)),
        shadow: shadow.report(),
        omitted,
        partitions: demand.partitions,
        tenants: list,
        normal: {
          tenants: [...tenants.keys()].filter(normal).length,
          hurt: list.filter(({ tenant }) => normal(tenant)),
        },
        intervalMs: series.intervalMs,
        series: series.read(),
      }
    },
  }
}

function noteUse(tally: PolicyTally | undefined, { burst, remaining }: PolicyState): void {
  if (!tally) return
  tally.calls += 1
  // A limit of 0 is always full.
  tally.fullest = Math.max(tally.fullest, burst > 0 ? (burst - remaining) / burst : 1)
}

function tenantReport(tenant: string, tally: TenantTally): TenantReport {
  const { plan, used, denied, policies } = tally
  return { tenant, plan, used, denied, policies, ...timesOf(tally) }
}

function policyReport(rule: { name: string; unit: string }, tally: PolicyTally): PolicyReport {
  const { count: denied, tenants, calls, fullest } = tally
  const { name, unit } = rule
  return { name, unit, denied, tenants: tenants.size, calls, fullest, ...timesOf(tally) }
}

function timesOf({
  count,
  firstAt,
  lastAt,
}: Denials): Pick<PolicyReport, 'firstDeniedAt' | 'lastDeniedAt'> {
  const iso = (at: number): string | undefined =>
    count > 0 ? new Date(at).toISOString() : undefined
  return { firstDeniedAt: iso(firstAt), lastDeniedAt: iso(lastAt) }
}

const noUse = (): Sum => ({ calls: 0, tokens: 0, usd: 0 })
const noDenials = (): Denials => ({ count: 0, firstAt: 0, lastAt: 0 })
const noTally = (): TenantTally => ({
  ...noDenials(),
  plan: undefined,
  used: noUse(),
  denied: noUse(),
  policies: Object.create(null) as Record<string, number>,
})

/** Counts a denial. Calls come in the order of their times. */
function note(denials: Denials, at: number): void {
  if (denials.count === 0) denials.firstAt = at
  denials.count += 1
  denials.lastAt = at
}

/** Adds one use to another. */
function addUse(sum: Sum, { calls, tokens, usd }: Use): void {
  sum.calls += calls
  sum.tokens += tokens
  sum.usd += usd
}

function amountsOf(isAllowed: boolean, { tokens, usd }: Use): Record<SeriesName, number> {
  const [yes, no] = isAllowed ? [1, 0] : [0, 1]
  return {
    allowed: yes,
    denied: no,
    allowedTokens: yes * tokens,
    deniedTokens: no * tokens,
    allowedUsd: yes * usd,
    deniedUsd: no * usd,
  }
}
