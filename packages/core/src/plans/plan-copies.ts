import type { Clock } from '../clock.ts'
import type { PlanSource } from '../decision.ts'
import { RecentItems } from '../internal/recent-items.ts'
import { StoredCopy } from '../internal/stored-copy.ts'

/**
 * The name of one plan as an isolate knows it. It expires when the resolver's answer does not hold any more. Plain data:
 * a request cannot await another request's promise.
 */
export class PlanCopy extends StoredCopy<string> {
  readonly key: string
  /** The tenant's id, for the resolver. */
  readonly id: string
  /** True if a search has ended or another request has found the plan: then requests do not wait for it. */
  isSearched = false
  /** The store's failure during the search. */
  failure: unknown
  /** The start of the search, by the machine's clock. */
  searchedAt: number = -Infinity
  /** The last look-up of this isolate that has not found the plan. */
  lookedUpAt: number = -Infinity
  /** The time to search again, for an answer that the store does not have. */
  expiresAt: number = Infinity

  constructor(key: string, id: string, clock: Clock, name?: string) {
    super(clock, name)
    this.key = key
    this.id = id
  }

  get source(): PlanSource {
    if (this.latest === undefined) return 'default'
    return this.current === undefined ? 'stale' : 'resolver'
  }

  /** Returns the next step of a request that needs the plan. */
  nextStep(now: number, timeoutMs: number, abandonedMs: number): 'use' | 'search' | 'wait' {
    if (this.isSearched) return 'use'
    const searchedMs = now - this.searchedAt
    // No search has begun, or it was cut off with its request, or the clock moved back.
    if (searchedMs >= abandonedMs || searchedMs < 0) return 'search'
    return searchedMs < timeoutMs ? 'wait' : 'use'
  }

  override update(name: string, readAt: number): boolean {
    const isTaken = super.update(name, readAt)
    if (isTaken) {
      Object.assign(this, { isSearched: true, lookedUpAt: -Infinity, expiresAt: Infinity })
    }
    return isTaken
  }

  override expire(): void {
    super.expire()
    this.isSearched = true
  }
}

/** The most plans that an isolate remembers. */
const MAX_PLANS = 10_000

/** The plans that an isolate knows. It forgets those not used lately. */
export class PlanCopies {
  readonly #plans = new RecentItems<PlanCopy>(MAX_PLANS)

  /** Returns the plan. One that has expired is unknown again, except for its name. */
  get(key: string, id: string, clock: Clock): PlanCopy {
    const plan = this.#plans.get(key)
    if (plan && clock() < plan.expiresAt) return plan
    const unknown = new PlanCopy(key, id, clock, plan?.latest)
    this.#plans.set(key, unknown)
    return unknown
  }

  /** Makes the next request search the plan. Requests under way keep the old object, and cannot undo it. */
  expire(key: string, clock: Clock): void {
    const plan = this.#plans.get(key)
    if (plan) this.#plans.set(key, new PlanCopy(key, plan.id, clock, plan.latest))
  }
}
