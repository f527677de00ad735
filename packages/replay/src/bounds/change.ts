import type { Span } from './meter.ts'
import { groupBy } from './group-by.ts'
import {
  callsOf,
  canDeny,
  dollarsOf,
  mostAllowed,
  mostDenied,
  newlyDeniedIn,
  type Period,
} from './period.ts'
import type { Partition, Row, Side } from './partition.ts'
import { createGuaranteed } from './guaranteed.ts'

/** An interval that holds a number. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

/** A tenant of which calls may be denied by one set of limits and allowed by the other one. */
export interface TenantBounds {
  readonly tenant: string
  readonly calls: Bounds
  /** Micro-dollars. */
  readonly usd: Bounds
  /** The policy that may deny most of them. */
  readonly policy: string
  /** The start of the first period that may have some, ISO 8601. */
  readonly since: string
}

/** Calls that one set of limits denies and the other one allows. */
export interface DenialBounds {
  readonly calls: Bounds
  /** Micro-dollars. */
  readonly usd: Bounds
  /** The tenants that may have some, those with the most first. */
  readonly tenants: readonly TenantBounds[]
}

/** Calls and micro-dollars. */
interface Amount {
  calls: number
  usd: number
}

interface Tally {
  readonly exact: Amount
  readonly most: Amount
  readonly policies: Map<string, number>
  since: number
}

/** Bounds what `to` denies and `from` allows. */
export interface Change {
  add(period: Period): void
  read(): DenialBounds
}

/** Creates the bounds of no calls. */
export function createChange(from: Side, to: Side): Change {
  const all = createTally()
  const tenants = new Map<string, Tally>()
  const guaranteed = createGuaranteed(from, to)

  return {
    add(period) {
      addRows(all, period.rows, period, from, to)
      for (const [tenant, rows] of groupBy(period.rows, (row) => row.sum.subject.tenant)) {
        let tally = tenants.get(tenant)
        if (tally === undefined) tenants.set(tenant, (tally = createTally()))
        addRows(tally, rows, period, from, to)
      }
      for (const partition of period.partitions) guaranteed.add(partition, period.span)
    },
    read() {
      const found = guaranteed.read()
      const list = Array.from(tenants, ([tenant, tally]) =>
        tenantOf(tenant, tally, found.ofTenant(tenant)),
      )
      const sum = (pick: (tenant: TenantBounds) => number): number =>
        list.reduce((total, tenant) => total + pick(tenant), 0)
      const { exact, most } = all
      return {
        calls: {
          least: Math.max(
            exact.calls,
            found.ofAll.calls,
            sum(({ calls }) => calls.least),
          ),
          most: most.calls,
        },
        usd: {
          least: Math.max(
            exact.usd,
            found.ofAll.usd,
            sum(({ usd }) => usd.least),
          ),
          most: most.usd,
        },
        tenants: list
          .filter(({ calls }) => calls.most > 0)
          .toSorted((a, b) => b.calls.most - a.calls.most),
      }
    },
  }
}

const createTally = (): Tally => ({
  exact: { calls: 0, usd: 0 },
  most: { calls: 0, usd: 0 },
  policies: new Map(),
  since: Infinity,
})

function tenantOf(tenant: string, tally: Tally, found: Amount): TenantBounds {
  const { exact, most, policies, since } = tally
  const [[policy] = ['']] = [...policies].toSorted(([, a], [, b]) => b - a)
  return {
    tenant,
    calls: { least: Math.max(exact.calls, found.calls), most: most.calls },
    usd: { least: Math.max(exact.usd, found.usd), most: most.usd },
    policy,
    since: since === Infinity ? '' : new Date(since).toISOString(),
  }
}

/** Adds some rows of a period, such as those of one tenant. */
function addRows(tally: Tally, rows: readonly Row[], { span }: Period, from: Side, to: Side): void {
  const diverging = rows.filter((row) => row.diverges)
  if (diverging.length === 0) return
  const before = tally.most.calls
  for (const [partition, own] of groupBy(diverging, ({ exact }) => exact)) {
    if (partition) addExact(tally, partition, own, from, to)
    else addPossible(tally, own, span, from, to)
  }
  if (tally.most.calls > before) tally.since = Math.min(tally.since, span.start)
}

function addExact(
  { exact, most, policies }: Tally,
  partition: Partition,
  rows: readonly Row[],
  from: Side,
  to: Side,
): void {
  const denied = newlyDeniedIn(partition, from, to)
  if (denied === 0) return
  const [calls, usd] = [callsOf(rows), dollarsOf(rows)]
  // They may be calls of other rows.
  exact.calls += Math.max(0, denied - (partition.calls - calls))
  if (denied === partition.calls) exact.usd += usd
  most.calls += Math.min(denied, calls)
  most.usd += usd
  addTo(policies, partition.rule.name, Math.min(denied, calls))
}

function addPossible(
  { most, policies }: Tally,
  rows: readonly Row[],
  span: Span,
  from: Side,
  to: Side,
): void {
  const deniable = rows.filter(({ shares }) => shares.some((share) => canDeny(share, to)))
  const { calls, by } = mostDenied(deniable, to)
  const newly = Math.min(calls, mostAllowed(deniable, from, span))
  if (newly <= 0) return
  most.calls += newly
  most.usd += dollarsOf(deniable)
  for (const [policy, count] of by) addTo(policies, policy, count)
}

function addTo(sums: Map<string, number>, name: string, count: number): void {
  sums.set(name, (sums.get(name) ?? 0) + count)
}
