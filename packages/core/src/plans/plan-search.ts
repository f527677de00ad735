import type { ExtensionCall } from '../limiter/call.ts'
import type { Contribution } from '../limiter/extensions.ts'
import { systemClock, type Clock } from '../clock.ts'
import { runInBackground } from '../internal/background.ts'
import { isFresh } from '../internal/freshness.ts'
import { POLL_MS, pause, growingPauses } from '../internal/single-flight.ts'
import { hasLongValue, lacksDimension, encodePartitionAsync, encodePartition } from '../subject.ts'
import { PlanCopies, type PlanCopy } from './plan-copies.ts'
import { isInvalidated, planField, type PlanRecords } from './plan-records.ts'

/** Parts of a `PlanSearch`. */
export interface PlanSearchParts {
  readonly records: PlanRecords
  readonly clock: Clock
  /** The dimension whose values have plans. */
  readonly by: string
  /** The time for which the store keeps a plan. */
  readonly cacheMs: number
  /** The longest that the resolver may take. */
  readonly timeoutMs: number
  /** The shortest time from one look-up of an isolate to the next, if the first one fails. */
  readonly retryMs: number
  /** Calls the resolver. Reports a failure and returns `undefined`. */
  readonly resolve: (id: string) => Promise<string | undefined>
  /** Returns `name` if a plan has it; else reports it and returns `undefined`. */
  readonly definedPlan: (name: string | undefined) => string | undefined
}

/**
 * Finds plans for one limiter, in stages: each runs only if the one before finds no plan.
 *
 * 1. `find` reads the isolate's cache. Every 5 seconds the store's plan is read with a decision.
 * 2. `#search` reads the store. One request of the isolate does; the others wait for it.
 * 3. `#lookUp` calls the resolver: in the background, if there is a last known plan.
 */
export class PlanSearch {
  readonly #parts: PlanSearchParts
  readonly #plans = new PlanCopies()

  constructor(parts: PlanSearchParts) {
    this.#parts = parts
  }

  /** Finds a subject's plan. Returns a promise, which costs a timer, only if the isolate does not know it. */
  find(call: ExtensionCall): Contribution | Promise<Contribution> {
    const { subject } = call
    const per = [this.#parts.by]
    if (lacksDimension(subject, per)) return { plan: { name: undefined, source: 'default' } }
    return hasLongValue(subject, per)
      ? encodePartitionAsync(subject, per).then((partition) => this.#find(call, partition))
      : this.#find(call, encodePartition(subject, per))
  }

  /** Makes the next request look the plan up again. @throws StoreError */
  async invalidate(id: string): Promise<void> {
    const { by, clock, records } = this.#parts
    const key = keyOf(await encodePartitionAsync({ [by]: id }, [by]))
    try {
      await records.invalidate(key)
    } finally {
      this.#plans.expire(key, clock)
    }
  }

  #find(call: ExtensionCall, partition: string): Contribution | Promise<Contribution> {
    const { by, clock } = this.#parts
    const id = (call.subject as Readonly<Record<string, string>>)[by] as string
    const plan = this.#plans.get(keyOf(partition), id, clock)
    return plan.isSearched ? this.#contribution(plan, call) : this.#findUnknown(plan, call)
  }

  /** Finds a plan that the isolate does not know: searches, or waits for the request that does. */
  async #findUnknown({ key, id }: PlanCopy, call: ExtensionCall): Promise<Contribution> {
    const { clock, retryMs, timeoutMs } = this.#parts
    const waits = growingPauses(POLL_MS.isolate)
    for (;;) {
      // An invalidation puts another object in its place.
      const plan = this.#plans.get(key, id, clock)
      const step = plan.nextStep(systemClock(), timeoutMs, 2 * retryMs)
      if (step === 'use') return { ...this.#contribution(plan, call), failure: plan.failure }
      if (step === 'search') await this.#search(plan, call)
      else await offDeadline(call, pause(waits.next().value))
    }
  }

  /** Contributes `plan`. Unless it is fresh, the store's plan is read with the decision. */
  #contribution(plan: PlanCopy, call: ExtensionCall): Contribution {
    const { latest: name, source } = plan
    if (plan.isFresh()) return { plan: { name, source } }
    const readAt = this.#parts.clock()
    const update = (stored: string | undefined): boolean => {
      if (!this.#confirm(plan, stored, readAt) && !plan.isFresh()) {
        plan.expire()
        this.#lookUpInBackground(plan, stored, call)
      }
      return plan.latest !== name
    }
    return { plan: { name, source }, reads: [{ field: planField(plan.key), update }] }
  }

  /** Applies the plan that was stored at `readAt`. Returns false if there was none. */
  #confirm(plan: PlanCopy, stored: string | undefined, readAt: number): boolean {
    const name = isInvalidated(stored) ? undefined : this.#parts.definedPlan(stored)
    if (name !== undefined) plan.update(name, readAt)
    return name !== undefined
  }

  /** Searches for all requests of the isolate that wait. */
  async #search(plan: PlanCopy, call: ExtensionCall): Promise<void> {
    const { resolve } = this.#parts
    plan.searchedAt = systemClock()
    try {
      const isDone = await this.#searchStore(plan, call)
      // The answer is void if another isolate was faster, or the plan was invalidated meanwhile.
      if (!isDone) await this.#searchStore(plan, call)
    } catch (error) {
      // Without the store, the isolate uses the resolver alone.
      this.#cacheLocally(plan, await offDeadline(call, resolve(plan.id)), error)
    }
    plan.isSearched = true
  }

  /** Applies the store's plan, or looks it up. Returns false if the answer is void. */
  async #searchStore(plan: PlanCopy, call: ExtensionCall): Promise<boolean> {
    const { clock, definedPlan, records } = this.#parts
    const readAt = clock()
    const [stored, last] = await records.read(plan.key, call.startedAt)
    if (this.#confirm(plan, stored, readAt)) return true
    plan.latest = definedPlan(last) ?? plan.latest
    // After an invalidation, the last known plan waits for the resolver to fail.
    if (plan.latest === undefined || isInvalidated(stored)) return this.#lookUp(plan, stored, call)
    this.#lookUpInBackground(plan, stored, call)
    return true
  }

  #lookUpInBackground(
    plan: PlanCopy,
    stored: string | undefined,
    { waitUntil }: ExtensionCall,
  ): void {
    const { clock, retryMs } = this.#parts
    if (isFresh(plan.lookedUpAt, clock(), retryMs)) return
    runInBackground(this.#lookUp(plan, stored), waitUntil)
  }

  /** Looks the plan up and replaces `stored` with it. Returns false if the answer is void. */
  async #lookUp(
    plan: PlanCopy,
    stored: string | undefined,
    call?: ExtensionCall,
  ): Promise<boolean> {
    const { clock, records, resolve } = this.#parts
    plan.lookedUpAt = clock()
    const name = await offDeadline(call, resolve(plan.id))
    if (name === undefined) return true
    const savedAt = clock()
    try {
      const isSaved = await records.save(plan.key, name, stored, call?.startedAt)
      if (isSaved) plan.update(name, savedAt)
      return isSaved
    } catch (error) {
      this.#cacheLocally(plan, name, error)
      return true
    }
  }

  /** Applies an answer that the store does not have. */
  #cacheLocally(plan: PlanCopy, name: string | undefined, failure: unknown): void {
    const { cacheMs, clock, retryMs } = this.#parts
    const now = clock()
    if (name !== undefined) plan.update(name, now)
    plan.expiresAt = now + (name === undefined ? retryMs : cacheMs)
    plan.failure = failure
  }
}

/** The key of a plan's record: `tenant:acme:plan` for the partition `tenant=acme`. */
function keyOf(partition: string): string {
  return `${partition.replace('=', ':')}:plan`
}

/** Waits for `work` without using up the decision's time for the store. */
async function offDeadline<T>(call: ExtensionCall | undefined, work: Promise<T>): Promise<T> {
  const startedAt = systemClock()
  try {
    return await work
  } finally {
    call?.pauseDeadline(systemClock() - startedAt)
  }
}
