import type { PlanSource } from '../decision.ts'
import { clockMovedBack, FRESH_MS } from '../internal/freshness.ts'

/** An isolate's knowledge of one plan. Plain data: no request can wait for another's promise. */
export class CachedPlan {
  /** The last known plan. */
  name: string | undefined
  /** True if the store, or without it the resolver, had `name` when it was last asked. */
  isFresh = false
  /** True once the first search has ended, or another request has found the plan. */
  isReady = false
  /** The store's failure in the first search. */
  failure: unknown
  /** The start of the first search, by the machine's clock. */
  searchedAt: number = -Infinity
  /** The time to look the plan up again, if the store has none. */
  lookUpAt = 0
  /** The time to replace a plan again that the store has and that is not defined here. */
  replaceAt = 0
  /** The time to search anew. */
  expiresAt: number = Infinity
  /** True if the last known plan is no answer as long as the resolver has one. */
  readonly isInvalidated: boolean
  #freshUntil = 0

  constructor(name: string | undefined, isInvalidated: boolean) {
    this.name = name
    this.isInvalidated = isInvalidated
  }

  get source(): PlanSource {
    if (this.name === undefined) return 'default'
    return this.isFresh ? 'resolver' : 'stale'
  }

  /** Returns true if what was read at `since` is newer than this, or the clock moved back. */
  isOutdated(since: number, now: number): boolean {
    return this.#freshUntil <= since || clockMovedBack(this.#freshUntil, now)
  }

  /** Takes over the plan that the store had at `since`. */
  update(name: string, since: number, now: number): void {
    const freshUntil = since + FRESH_MS
    // What was read earlier may arrive later.
    if (this.isFresh && freshUntil < this.#freshUntil && !clockMovedBack(this.#freshUntil, now))
      return
    this.#freshUntil = freshUntil
    Object.assign(this, { name, isFresh: true, isReady: true, lookUpAt: 0, expiresAt: Infinity })
  }

  /** Takes over the resolver's answer for `lastsMs`, because the store has failed. */
  cacheLocally(name: string | undefined, failure: unknown, now: number, lastsMs: number): void {
    this.#freshUntil = now + FRESH_MS
    this.isFresh = name !== undefined
    this.name = name ?? this.name
    this.expiresAt = now + lastsMs
    this.failure = failure
  }

  /** Returns true unless somebody looks the plan up, or has failed to, less than `claimMs` ago. */
  mayLookUp(replaced: string | undefined, now: number, claimMs: number): boolean {
    const at = replaced === undefined ? this.lookUpAt : this.replaceAt
    return now >= at || clockMovedBack(at, now, claimMs)
  }

  /** Keeps this isolate from another look-up until `at`. */
  postponeLookUp(replaced: string | undefined, at: number): void {
    this.lookUpAt = at
    // Longer than the answer holds here: limiters with other plans may replace it in turn.
    if (replaced !== undefined) this.replaceAt = at
  }
}

/** Isolates forget plans past that number. */
const MAX_PLANS = 10_000

/** The plans that an isolate knows. */
export class PlanCache {
  // In order of use, so that the first is the one to forget.
  readonly #plans = new Map<string, CachedPlan>()

  get(key: string, now: number): CachedPlan {
    const plan = this.#plans.get(key)
    const isCurrent = plan !== undefined && now < plan.expiresAt
    return this.#put(key, isCurrent ? plan : new CachedPlan(plan?.name, false))
  }

  invalidate(key: string): void {
    this.#put(key, new CachedPlan(this.#plans.get(key)?.name, true))
  }

  #put(key: string, plan: CachedPlan): CachedPlan {
    this.#plans.delete(key)
    this.#plans.set(key, plan)
    for (const oldest of this.#plans.keys()) {
      if (this.#plans.size <= MAX_PLANS) break
      this.#plans.delete(oldest)
    }
    return plan
  }
}
