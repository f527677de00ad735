import type {
  DecisionRecord,
  PolicyFact,
  ReservedRecord,
  SettledRecord,
} from '../records/record.ts'
import type { PolicyView, TenantView } from '../view.ts'
import type { Weight } from '../weight.ts'
import { Choices } from './choices.ts'
import { CapCount, SAME_WINDOW_MS } from './cap-count.ts'
import { DayCount } from './day-count.ts'
import { NO_LEVELS, type Counts, type Levels, type Mutable } from '../totals.ts'

/** The most policies that are shown of one tenant. */
const MAX_POLICIES = 40
/** The time without a record after which none is on its way. */
const QUIET_MS = 10_000

/** A policy, with what orders its records. */
interface PolicyEntry {
  readonly view: Mutable<PolicyView>
  at: number
  /** Set for a cap. */
  cap?: CapCount
}

export class Tenant {
  readonly name: string
  plan: string | undefined
  place: string | undefined
  allowed = 0
  denied = 0
  degraded = 0
  readonly tokens: DayCount = new DayCount()
  heldUsd = 0
  avoidedUsd = 0
  avoidedCalls = 0
  lastAt = 0
  /** The amounts that are in the sums of all tenants. */
  levels: Levels = NO_LEVELS
  /** The number of the last change. */
  version = 0
  readonly #policies = new Map<string, PolicyEntry>()
  #choices: Choices | undefined
  /** The calls that still run, by limiter. */
  readonly #running = new Map<string, number>()

  constructor(name: string) {
    this.name = name
  }

  get #budget(): PolicyEntry | undefined {
    return [...this.#policies.values()].find(({ view }) => view.unit === 'usd')
  }

  /** The time at which its used dollars count no more; `-Infinity` if none are used. */
  get usedUntil(): number {
    return this.levels.usedUsd > 0 ? (this.#budget?.view.freshAt ?? -Infinity) : -Infinity
  }

  levelsAt(now: number): Levels {
    const { heldUsd, avoidedUsd } = this
    const budget = this.#budget
    if (!budget) return { ...NO_LEVELS, heldUsd, avoidedUsd }
    const { limit, remaining, freshAt } = budget.view
    const usedUsd = now >= freshAt ? 0 : (budget.cap?.used ?? limit - remaining)
    // A call of an earlier window holds nothing of this one.
    return { usedUsd, heldUsd: Math.min(heldUsd, usedUsd), budgetUsd: limit, avoidedUsd }
  }

  weightAt(now: number): Weight {
    return { ...this.countsAt(now), usedUsd: this.levels.usedUsd, lastAt: this.lastAt }
  }

  /** Drops all policies but the one that its dollars are counted by. */
  keepBudget(): void {
    const budget = this.#budget
    for (const [key, entry] of this.#policies) if (entry !== budget) this.#policies.delete(key)
  }

  /**
   * Takes over the policies' states. Those of a decision without the store are not the store's. `isComplete` says
   * that no record is known to be missing.
   */
  decide(record: DecisionRecord, now: number, isComplete: boolean): void {
    const { limiter, policies, allowed, degraded, tried, asked } = record
    if (tried) (this.#choices ??= new Choices()).add(tried, asked)
    const isQuiet = now - this.lastAt > QUIET_MS && !this.#running.get(limiter)
    for (const fact of policies) {
      const entry = this.#entryOf(limiter, fact, now)
      if (!entry) continue
      if (!fact.fits && !(degraded && allowed)) entry.view.denied += 1
      if (fact.endsAt !== undefined) countCap(entry, fact, record, isQuiet && isComplete, now)
      else if (!degraded && record.at >= entry.at) this.#takeOver(entry.view, fact, now)
      entry.at = Math.max(entry.at, record.at)
    }
  }

  #entryOf(limiter: string, fact: PolicyFact, now: number): PolicyEntry | undefined {
    const { name, route, unit, limit, remaining, windowMs, freshMs, enforced } = fact
    const key = JSON.stringify([limiter, name, route])
    const known = this.#policies.get(key)
    if (known || this.#policies.size >= MAX_POLICIES) return known
    const counts = { unit, limit, windowMs, enforced, remaining, freshAt: now + freshMs, denied: 0 }
    const view = { limiter, name, ...(route !== undefined && { route }), ...counts }
    const entry = { view, at: 0 }
    this.#policies.set(key, entry)
    return entry
  }

  /**
   * Takes the store's count, unless a settlement may be on its way: its event and the decision's may
   * come in another order than the store did them. Then adds up what this limiter has charged.
   */
  #takeOver(view: Mutable<PolicyView>, fact: PolicyFact, now: number): void {
    const { limit, remaining, cost, freshMs, windowMs, enforced, adapted } = fact
    const freshAt = now + freshMs
    const isSameWindow = Math.abs(freshAt - view.freshAt) < SAME_WINDOW_MS && view.limit === limit
    const isSettling = view.unit === 'usd' && (this.#running.get(view.limiter) ?? 0) > 0
    const charged = fact.charged ? cost : 0
    view.remaining = isSettling && isSameWindow ? Math.max(0, view.remaining - charged) : remaining
    Object.assign(view, { limit, windowMs, enforced, freshAt, adapted })
  }

  begin(limiter: string, usd: number): void {
    this.heldUsd += usd
    this.#setRunning(limiter, 1)
  }

  end(limiter: string, usd: number): void {
    this.heldUsd = Math.max(0, this.heldUsd - usd)
    this.#setRunning(limiter, -1)
  }

  /** Counts the units that the settlement of a call has moved. */
  settle({ limiter, at, isDegraded }: ReservedRecord, moved: SettledRecord, now: number): void {
    this.tokens.add(moved.tokens, now)
    for (const { view, cap } of this.#policies.values()) {
      if (view.limiter !== limiter || view.unit === 'call') continue
      const units = (moved.overrun[view.unit] ?? 0) - (moved.returned[view.unit] ?? 0)
      const estimate = moved.stored?.[view.name] ?? 0
      if (moved.stored) cap?.settle(-estimate, at, true)
      cap?.settle(units + estimate, at, isDegraded && !moved.stored)
      if (cap) view.remaining = Math.max(0, view.limit - cap.stored)
      else if (!isDegraded)
        view.remaining = Math.min(view.limit, Math.max(0, view.remaining - units))
    }
  }

  #setRunning(limiter: string, change: number): void {
    const running = Math.max(0, (this.#running.get(limiter) ?? 0) + change)
    this.#running.set(limiter, running)
    for (const { view } of this.#policies.values()) {
      if (view.limiter !== limiter || view.unit !== 'call') continue
      view.remaining = Math.max(0, view.limit - running)
    }
  }

  countsAt(now: number): Counts {
    const { allowed, denied, degraded, tokens, avoidedCalls } = this
    return { allowed, denied, degraded, tokens: tokens.read(now), avoidedCalls }
  }

  view(now: number): TenantView {
    const { name: tenant, plan, place, lastAt } = this
    return {
      tenant,
      ...(plan !== undefined && { plan }),
      ...(place !== undefined && { place }),
      ...this.countsAt(now),
      ...this.levels,
      lastAt,
      policies: Array.from(this.#policies.values(), ({ view }) => ({ ...view })),
      ...(this.#choices && { choices: this.#choices.view }),
    }
  }
}

/** Counts a decision in the window of a cap, unless that is over. */
function countCap(
  entry: PolicyEntry,
  fact: PolicyFact,
  { at, degraded }: DecisionRecord,
  isLatest: boolean,
  now: number,
): void {
  const { limit, freshMs, windowMs, enforced, endsAt = 0, resetsAt } = fact
  const order = entry.cap?.compare(endsAt) ?? 1
  if (order < 0) return
  // A day of a calendar may have 25 hours, and a period may be longer where its zone changes.
  const mostMs = resetsAt === undefined ? windowMs : 2 * windowMs
  const cap = order > 0 || !entry.cap ? new CapCount(endsAt, mostMs, entry.cap) : entry.cap
  cap.decide(fact, degraded !== undefined, isLatest)
  entry.cap = cap
  const { view } = entry
  if (at >= entry.at)
    Object.assign(view, { limit, windowMs, enforced, freshAt: now + freshMs, resetsAt })
  view.remaining = Math.max(0, view.limit - cap.stored)
}
