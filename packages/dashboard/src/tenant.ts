import type { DecisionRecord, PolicyFact, SettledRecord } from './record.ts'
import type { Levels } from './totals.ts'
import type { PolicyView, TenantView } from './view.ts'

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** The most policies that are shown of one tenant. */
const MAX_POLICIES = 40
/** Windows that end within this time of each other are one window. */
const SAME_WINDOW_MS = 2_000

/** The state of one tenant. */
export class Tenant {
  readonly name: string
  plan: string | undefined
  allowed = 0
  denied = 0
  degraded = 0
  tokens = 0
  heldUsd = 0
  avoidedUsd = 0
  avoidedCalls = 0
  lastAt = 0
  /** The number of the last change. */
  version = 0
  readonly #policies = new Map<string, Mutable<PolicyView>>()
  /** The calls that still run, by limiter. */
  readonly #running = new Map<string, number>()

  constructor(name: string) {
    this.name = name
  }

  get levels(): Levels {
    const budget = [...this.#policies.values()].find(({ unit }) => unit === 'usd')
    return {
      usedUsd: budget ? budget.limit - budget.remaining : 0,
      budgetUsd: budget?.limit ?? 0,
      heldUsd: this.heldUsd,
      avoidedUsd: this.avoidedUsd,
    }
  }

  /** Takes over the policies' states. Those of a decision without the store are not the store's. */
  decide({ limiter, policies, allowed, degraded }: DecisionRecord, now: number): void {
    for (const fact of policies) {
      const view = this.#viewOf(limiter, fact, now)
      if (!view) continue
      if (!fact.fits && !(degraded && allowed)) view.denied += 1
      if (!degraded) this.#takeOver(view, fact, allowed, now)
    }
  }

  #viewOf(limiter: string, fact: PolicyFact, now: number): Mutable<PolicyView> | undefined {
    const { name, route, unit, limit, remaining, windowMs, freshMs, enforced } = fact
    const key = JSON.stringify([limiter, name, route])
    const known = this.#policies.get(key)
    if (known || this.#policies.size >= MAX_POLICIES) return known
    const counts = { unit, limit, windowMs, enforced, remaining, freshAt: now + freshMs, denied: 0 }
    const view = { limiter, name, ...(route !== undefined && { route }), ...counts }
    this.#policies.set(key, view)
    return view
  }

  /**
   * Takes the store's count, unless a settlement may be on its way: its event and the decision's may
   * come in another order than the store did them. Then adds up what this limiter has charged.
   */
  #takeOver(view: Mutable<PolicyView>, fact: PolicyFact, allowed: boolean, now: number): void {
    const { limit, remaining, cost, freshMs, windowMs, enforced } = fact
    const freshAt = now + freshMs
    const isSameWindow = Math.abs(freshAt - view.freshAt) < SAME_WINDOW_MS && view.limit === limit
    const isSettling = view.unit === 'usd' && (this.#running.get(view.limiter) ?? 0) > 0
    const charged = allowed ? cost : 0
    view.remaining = isSettling && isSameWindow ? Math.max(0, view.remaining - charged) : remaining
    Object.assign(view, { limit, windowMs, enforced, freshAt })
  }

  /** Counts a call that begins. */
  begin(limiter: string, usd: number): void {
    this.heldUsd += usd
    this.#setRunning(limiter, 1)
  }

  /** Counts a call that has ended, with the units that its settlement has moved. */
  end(limiter: string, usd: number, moved?: SettledRecord): void {
    this.heldUsd = Math.max(0, this.heldUsd - usd)
    this.#setRunning(limiter, -1)
    if (!moved) return
    const back = (unit: string): number => (moved.returned[unit] ?? 0) - (moved.overrun[unit] ?? 0)
    this.tokens -= back('token')
    for (const view of this.#policies.values()) {
      if (view.limiter !== limiter || view.unit === 'call') continue
      view.remaining = Math.min(view.limit, Math.max(0, view.remaining + back(view.unit)))
    }
  }

  #setRunning(limiter: string, change: number): void {
    const running = Math.max(0, (this.#running.get(limiter) ?? 0) + change)
    this.#running.set(limiter, running)
    for (const view of this.#policies.values()) {
      if (view.limiter !== limiter || view.unit !== 'call') continue
      view.remaining = Math.max(0, view.limit - running)
    }
  }

  view(): TenantView {
    const { name: tenant, plan, allowed, denied, degraded, tokens } = this
    const { avoidedCalls, lastAt } = this
    return {
      tenant,
      ...(plan !== undefined && { plan }),
      allowed,
      denied,
      degraded,
      tokens,
      ...this.levels,
      avoidedCalls,
      lastAt,
      policies: structuredClone([...this.#policies.values()]),
    }
  }
}
