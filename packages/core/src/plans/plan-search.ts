import type { CachedPlan } from './cached-plan.ts'
import type { Clock } from '../clock.ts'
import type { PlanRecords } from './plan-records.ts'
import { PlanCache } from './cached-plan.ts'
import { systemClock } from '../clock.ts'
import { FAILED, planIn } from './plan-records.ts'
import { randomId } from '../internal/random-id.ts'
import {
  hasLongValue,
  lacksDimension,
  encodePartition,
  encodeValueAsync,
  type Subject,
} from '../subject.ts'
import { runInBackground } from '../internal/background.ts'
import { POLL_MS, pause, growingPauses } from '../internal/single-flight.ts'
import type { ExtensionCall, Contribution } from '../limiter/extensions.ts'

/** Parts of a `PlanSearch`. */
export interface PlanSearchParts {
  readonly records: PlanRecords
  /** The dimension whose values have plans. */
  readonly by: string
  readonly clock: Clock
  /** The longest that one look-up may take, in milliseconds. */
  readonly timeoutMs: number
  /** The time without another look-up, from the start of one, in milliseconds. */
  readonly claimMs: number
  /** The time that a plan lasts which the store could not be told of, in milliseconds. */
  readonly cacheMs: number
  /** Asks the resolver; `undefined` if it fails. Does not throw. */
  readonly resolve: (id: string) => Promise<string | undefined>
  /** Returns `name` if it names a plan; else reports it. */
  readonly definedPlan: (name: string | undefined) => string | undefined
}

/** The owner of a plan, and what the request that asks for it brings along. */
interface Owner {
  readonly id: string
  readonly key: string
  /** The decision that waits; `undefined` in the background. */
  readonly call: ExtensionCall | undefined
}

/**
 * The part of a plan resolver that belongs to one limiter. It finds a plan in stages: what the isolate
 * knows (`find`), what the store has (`#look`), what the resolver says (`#lookUp`).
 */
export class PlanSearch {
  readonly #parts: PlanSearchParts
  readonly #plans = new PlanCache()

  constructor(parts: PlanSearchParts) {
    this.#parts = parts
  }

  /** Finds the plan; at once if it is known, as a promise takes a timer. */
  find(call: ExtensionCall): Contribution | Promise<Contribution> {
    const { subject } = call
    const { by, clock } = this.#parts
    if (lacksDimension(subject, [by])) return { plan: { name: undefined, source: 'default' } }
    const id = (subject as Record<string, string>)[by] ?? ''
    if (hasLongValue(subject, [by])) return this.#findSlowly(call, id)
    const key = `${by}:${encodePartition(subject, [by]).slice(by.length + 1)}:plan`
    const plan = this.#plans.get(key, clock())
    return plan.isReady ? this.#result(plan, { id, key, call }) : this.#findSlowly(call, id)
  }

  async #findSlowly(call: ExtensionCall, id: string): Promise<Contribution> {
    const { clock, claimMs, timeoutMs } = this.#parts
    const owner = { id, key: await this.#key(call.subject), call }
    let plan = this.#plans.get(owner.key, clock())
    for (const waitMs of growingPauses(POLL_MS.isolate)) {
      if (plan.isReady) break
      const searchedMs = systemClock() - plan.searchedAt
      // Whoever comes first searches for all; but it may have been cut off, or the clock set back.
      if (searchedMs >= 2 * claimMs || searchedMs < 0) await this.#searchFirst(plan, owner)
      else if (searchedMs >= timeoutMs) break
      else await offDeadline(owner, pause(waitMs))
      if (plan.isReady) return { ...this.#result(plan, owner), failure: plan.failure }
      plan = this.#plans.get(owner.key, clock())
    }
    return this.#result(plan, owner)
  }

  async invalidate(id: string): Promise<void> {
    const { by, records } = this.#parts
    const key = await this.#key({ [by]: id })
    try {
      await records.forget(key)
    } finally {
      this.#plans.invalidate(key)
    }
  }

  async #key(subject: Subject): Promise<string> {
    const { by } = this.#parts
    return `${by}:${await encodeValueAsync(by, subject)}:plan`
  }

  /** The plan as the isolate knows it, with the store's record to read along unless it is fresh. */
  #result(plan: CachedPlan, owner: Owner): Contribution {
    const { clock, definedPlan, records } = this.#parts
    const { name, source } = plan
    const since = clock()
    if (plan.isFresh && !plan.isOutdated(since, since)) return { plan: { name, source } }
    const update = (value: string | undefined): boolean => {
      const stored = planIn(value)
      const defined = definedPlan(stored)
      if (defined !== undefined) {
        plan.update(defined, since, clock())
      } else if (plan.isOutdated(since, clock())) {
        plan.isFresh = false
        this.#refreshInBackground(plan, owner, stored)
      }
      return plan.name !== name
    }
    return { plan: { name, source }, reads: [{ field: records.plan(owner.key), update }] }
  }

  /** Searches for all requests of this isolate that wait for the plan. */
  async #searchFirst(plan: CachedPlan, owner: Owner): Promise<void> {
    plan.searchedAt = systemClock()
    try {
      await this.#search(plan, owner)
    } catch (error) {
      this.#cacheLocally(plan, await offDeadline(owner, this.#parts.resolve(owner.id)), error)
    }
    plan.isReady = true
  }

  /** Looks at the store until there is an answer, or for as long as a look-up may take. */
  async #search(plan: CachedPlan, owner: Owner): Promise<void> {
    const deadline = systemClock() + this.#parts.timeoutMs
    for (const waitMs of growingPauses(POLL_MS.store)) {
      if ((await this.#look(plan, owner)) || systemClock() >= deadline) return
      await offDeadline(owner, pause(waitMs))
    }
  }

  /** Goes by what the store has. Returns false while another isolate looks the plan up. */
  async #look(plan: CachedPlan, owner: Owner): Promise<boolean> {
    const { records, clock, claimMs, definedPlan } = this.#parts
    const since = clock()
    const { plan: stored, claim, last } = await records.read(owner.key, owner.call?.startedAt)
    const defined = definedPlan(stored)
    if (defined !== undefined) {
      plan.update(defined, since, clock())
      return true
    }
    plan.name = definedPlan(last) ?? plan.name
    const isClaimed = stored === undefined && claim !== undefined
    if (isClaimed) plan.lookUpAt = since + claimMs
    if (claim === FAILED) return true
    if (plan.name !== undefined && !plan.isInvalidated) {
      this.#refreshInBackground(plan, owner, stored)
      return true
    }
    if (stored !== undefined && !this.#mayLookUp(plan, stored)) return true
    return !isClaimed && (await this.#lookUp(plan, owner, stored))
  }

  #mayLookUp(plan: CachedPlan, replaced: string | undefined): boolean {
    const { clock, claimMs } = this.#parts
    return plan.mayLookUp(replaced, clock(), claimMs)
  }

  #refreshInBackground(plan: CachedPlan, owner: Owner, replaced: string | undefined): void {
    if (!this.#mayLookUp(plan, replaced)) return
    runInBackground(
      this.#lookUp(plan, { ...owner, call: undefined }, replaced),
      owner.call?.waitUntil,
    )
  }

  /**
   * Looks the plan up if nobody else does, and returns true if nobody did. `replaced` is a plan that the
   * store has and that is not defined here, such as one that a deployment has renamed.
   */
  async #lookUp(plan: CachedPlan, owner: Owner, replaced?: string): Promise<boolean> {
    const { id, key, call } = owner
    const { records, clock, claimMs, resolve } = this.#parts
    plan.postponeLookUp(replaced, clock() + claimMs)
    const claim = randomId()
    if (!(await records.claim(key, claim, replaced, call?.startedAt))) return false
    const name = await offDeadline(owner, resolve(id))
    try {
      if (name === undefined) return await records.giveUp(key, claim, call?.startedAt)
      const since = clock()
      // A claim that is lost makes the answer void: the plan may have changed since it was asked for.
      const isKept = await records.keep(key, claim, name, call?.startedAt)
      if (isKept) plan.update(name, since, clock())
      return isKept
    } catch (error) {
      this.#cacheLocally(plan, name, error)
      return true
    }
  }

  /** Goes by the resolver alone, as the store has failed. */
  #cacheLocally(plan: CachedPlan, name: string | undefined, failure: unknown): void {
    const { clock, cacheMs, claimMs } = this.#parts
    plan.cacheLocally(name, failure, clock(), name === undefined ? claimMs : cacheMs)
  }
}

/** Waits for `work`, which is not the store's, at no cost to the store's deadline. */
async function offDeadline<T>({ call }: Owner, work: Promise<T>): Promise<T> {
  const startedAt = systemClock()
  try {
    return await work
  } finally {
    call?.pauseDeadline(systemClock() - startedAt)
  }
}
