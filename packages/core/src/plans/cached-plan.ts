import type { PlanSource } from '../decision.ts'
import { clockMovedBack, FRESH_MS } from '../internal/freshness.ts'
import { RecentItems } from '../internal/recent-items.ts'

/** One plan as an isolate knows it. Plain data: a request cannot await another request's promise. */
export class CachedPlan {
  readonly key: string
  /** The tenant's id, for the resolver. */
  readonly id: string
  /**
   * `'unknown'` until a search has ended or another request has found the plan; then `'confirmed'` while
   * the resolver's answer holds, and `'stale'` when it does not.
   */
  state: 'unknown' | 'confirmed' | 'stale' = 'unknown'
  /** The last known name. */
  name: string | undefined
  /** The store's failure during the search. */
  failure: unknown
  /** The start of the search, by the machine's clock. */
  searchedAt: number = -Infinity
  /** The time before which this isolate makes no look-up. */
  lookUpAt = 0
  /** The time to search again, for an answer that the store does not have. */
  expiresAt: number = Infinity
  #confirmedAt = 0

  constructor(key: string, id: string, name?: string) {
    this.key = key
    this.id = id
    this.name = name
  }

  get source(): PlanSource {
    if (this.name === undefined) return 'default'
    return this.state === 'confirmed' ? 'resolver' : 'stale'
  }

  /** Returns the next step of a request that needs the plan. */
  nextStep(now: number, timeoutMs: number, abandonedMs: number): 'use' | 'search' | 'wait' {
    if (this.state !== 'unknown') return 'use'
    const searchedMs = now - this.searchedAt
    // No search has begun, or it was cut off with its request, or the clock moved back.
    if (searchedMs >= abandonedMs || searchedMs < 0) return 'search'
    return searchedMs < timeoutMs ? 'wait' : 'use'
  }

  /** Returns true if the plan need not be read at `time`. */
  isFresh(time: number, now: number = time): boolean {
    const freshUntil = this.#confirmedAt + FRESH_MS
    return this.state === 'confirmed' && time < freshUntil && !clockMovedBack(freshUntil, now)
  }

  /** Applies the name that the store had at `readAt`, unless a later one is known. */
  confirm(name: string, readAt: number, now: number): void {
    const isLate = readAt < this.#confirmedAt && this.#confirmedAt <= now
    if (isLate && this.state === 'confirmed') return
    this.#confirmedAt = readAt
    Object.assign(this, { name, state: 'confirmed', lookUpAt: 0, expiresAt: Infinity })
  }
}

/** The most plans that an isolate remembers. */
const MAX_PLANS = 10_000

/** The plans that an isolate knows. It forgets those not used lately. */
export class PlanCache {
  readonly #plans = new RecentItems<CachedPlan>(MAX_PLANS)

  /** Returns the plan. One that has expired is unknown again, except for its name. */
  get(key: string, id: string, now: number): CachedPlan {
    const plan = this.#plans.get(key)
    if (plan && now < plan.expiresAt) return plan
    const unknown = new CachedPlan(key, id, plan?.name)
    this.#plans.set(key, unknown)
    return unknown
  }

  /** Makes the next request search the plan. Requests under way keep the old object, and cannot undo it. */
  expire(key: string): void {
    const plan = this.#plans.get(key)
    if (plan) this.#plans.set(key, new CachedPlan(key, plan.id, plan.name))
  }
}
