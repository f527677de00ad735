import { entryOf, groupBy } from '../groups.ts'
import { Guaranteed, type Amount } from './guaranteed.ts'
import { callsOf, dollarsOf, type Partition, type Row, type Side } from './partition.ts'
import { mostAllowed, mostDenied, type Period } from './period.ts'

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

/** The bounds of the calls that `to` denies and `from` allows. */
export class Change {
  readonly #from: Side
  readonly #to: Side
  readonly #guaranteed: Guaranteed
  readonly #all: Tally
  readonly #tenants = new Map<string, Tally>()

  constructor(from: Side, to: Side) {
    this.#from = from
    this.#to = to
    this.#guaranteed = new Guaranteed(from, to)
    this.#all = new Tally(from, to)
  }

  add(period: Period): void {
    this.#all.add(period, period.rows)
    for (const [tenant, rows] of groupBy(period.rows, ({ sum }) => sum.subject.tenant)) {
      entryOf(this.#tenants, tenant, () => new Tally(this.#from, this.#to)).add(period, rows)
    }
    for (const partition of period.partitions) this.#guaranteed.add(partition, period.span)
  }

  read(): DenialBounds {
    const guaranteed = this.#guaranteed
    guaranteed.end()
    const all = this.#all.read(guaranteed.of(undefined))
    const tenants = Array.from(this.#tenants, ([tenant, tally]) => ({
      tenant,
      ...tally.read(guaranteed.of(tenant)),
    }))
    const withTenants = ({ least, most }: Bounds, of: 'calls' | 'usd'): Bounds => {
      const ofTenants = tenants.reduce((sum, tenant) => sum + tenant[of].least, 0)
      return { least: Math.max(least, ofTenants), most }
    }
    return {
      calls: withTenants(all.calls, 'calls'),
      usd: withTenants(all.usd, 'usd'),
      tenants: tenants
        .filter(({ calls }) => calls.most > 0)
        .toSorted((a, b) => b.calls.most - a.calls.most),
    }
  }
}

/** The bounds of some calls, such as those of one tenant. */
class Tally {
  readonly #from: Side
  readonly #to: Side
  readonly #least = { calls: 0, usd: 0 }
  readonly #most = { calls: 0, usd: 0 }
  readonly #policies = new Map<string, number>()
  #since: number | undefined

  constructor(from: Side, to: Side) {
    this.#from = from
    this.#to = to
  }

  /** Adds some rows of a period. */
  add(period: Period, rows: readonly Row[]): void {
    const before = this.#most.calls
    const diverging = rows.filter((row) => period.diverges(row))
    for (const [exact, own] of groupBy(diverging, (row) => period.exactOf(row))) {
      if (exact) this.#addExact(exact, own)
      else this.#addPossible(period, own)
    }
    if (this.#most.calls > before) this.#since ??= period.span.start
  }

  /** Returns the bounds, given what is denied for sure. */
  read(guaranteed: Amount): Omit<TenantBounds, 'tenant'> {
    const [[policy] = ['']] = [...this.#policies].toSorted(([, a], [, b]) => b - a)
    const [least, most] = [this.#least, this.#most]
    return {
      calls: { least: Math.max(least.calls, guaranteed.calls), most: most.calls },
      usd: { least: Math.max(least.usd, guaranteed.usd), most: most.usd },
      policy,
      since: this.#since === undefined ? '' : new Date(this.#since).toISOString(),
    }
  }

  #addExact(partition: Partition, rows: readonly Row[]): void {
    const denied = partition.newlyDenied(this.#from, this.#to)
    if (denied === 0) return
    const [calls, usd] = [callsOf(rows), dollarsOf(rows)]
    const all = callsOf(partition.rows)
    // They may be calls of other rows.
    this.#least.calls += Math.max(0, denied - (all - calls))
    if (denied === all) this.#least.usd += usd
    this.#addMost(Math.min(denied, calls), usd)
    this.#addPolicy(partition.rule.name, Math.min(denied, calls))
  }

  #addPossible({ span }: Period, rows: readonly Row[]): void {
    const denied = mostDenied(rows, this.#to)
    const calls = Math.min(denied.calls, mostAllowed(denied.rows, this.#from, span))
    if (calls <= 0) return
    this.#addMost(calls, dollarsOf(denied.rows))
    for (const [policy, count] of denied.by) this.#addPolicy(policy, count)
  }

  #addMost(calls: number, usd: number): void {
    this.#most.calls += calls
    this.#most.usd += usd
  }

  #addPolicy(name: string, calls: number): void {
    this.#policies.set(name, (this.#policies.get(name) ?? 0) + calls)
  }
}
