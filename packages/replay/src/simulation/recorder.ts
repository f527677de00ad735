import type { Decision } from '@sluice/core'
import type { Call } from '../call.ts'
import type { PolicySet } from './policy-set.ts'
import type { SeriesName, SetReport, TenantReport, Use } from './report-types.ts'
import { entryOf } from '../groups.ts'
import { createBalanceTally } from './balance-tally.ts'
import { collectDemand } from './demand.ts'
import type { OpeningBalance } from './opening-balances.ts'
import { createPolicyTallies, noDenials, note, timesOf, type Denials } from './policy-tallies.ts'
import { createShadowTally } from './shadow-tally.ts'
import { createTimeSeries } from './time-series.ts'

/** A `Use` under construction. */
type Sum = { -readonly [Name in keyof Use]: Use[Name] }

interface TenantTally extends Denials {
  plan: string | undefined
  readonly used: Sum
  readonly denied: Sum
  readonly policies: Record<string, number>
}

/** Collects the decisions of one set of limits. */
export interface Recorder {
  add(call: Call, usd: number, decision: Decision): void
  /** @param normal Returns true if a tenant is normal. `undefined` judges by the tenants' use. */
  report(spanMs: number, normal: ((tenant: string) => boolean) | undefined): SetReport
}

const SERIES = 'allowed denied allowedTokens deniedTokens allowedUsd deniedUsd'.split(
  ' ',
) as SeriesName[]

/** Creates an empty recorder. @param opening The units that balances of credits begin with. */
export function createRecorder(
  { name, rules, omitted }: PolicySet,
  opening?: OpeningBalance,
): Recorder {
  const used = noUse()
  const denied = noUse()
  let delayed = 0
  const tenants = new Map<string, TenantTally>()
  const policies = createPolicyTallies(rules)
  const series = createTimeSeries(SERIES)
  const demand = collectDemand(rules)
  const shadow = createShadowTally()
  const balances = createBalanceTally(rules, opening)

  function addDenial({ at }: Call, use: Use, tally: TenantTally, policy: string): void {
    addUse(denied, use)
    addUse(tally.denied, use)
    note(tally, at)
    tally.policies[policy] = (tally.policies[policy] ?? 0) + 1
  }

  return {
    add(call, usd, decision) {
      const use = { calls: 1, tokens: call.units['token'] ?? 0, usd }
      const tally = entryOf(tenants, call.subject.tenant, noTally)
      tally.plan = decision.plan
      addUse(used, use)
      addUse(tally.used, use)
      series.add(call.at, amountsOf(decision.allowed, use))
      demand.add(call, decision)
      policies.add(call, decision)
      if (decision.delayMs > 0) delayed += 1
      shadow.add(call.subject.tenant, use, decision)
      balances.add(call, decision)
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
        policies: policies.report(),
        credits: balances.report(),
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

function tenantReport(tenant: string, tally: TenantTally): TenantReport {
  const { plan, used, denied, policies } = tally
  return { tenant, plan, used, denied, policies, ...timesOf(tally) }
}

const noUse = (): Sum => ({ calls: 0, tokens: 0, usd: 0 })
const noTally = (): TenantTally => ({
  ...noDenials(),
  plan: undefined,
  used: noUse(),
  denied: noUse(),
  policies: Object.create(null) as Record<string, number>,
})

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
