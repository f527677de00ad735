import { DurableObject } from 'cloudflare:workers'
import { kindsOf, type OwnKinds } from '@sluice/core/internal/places'
import { Limits, type Answer } from './limits.ts'

/**
 * The class of the objects in which `durableObjects` counts. Export it from the Worker, and declare it with SQLite
 * storage in Wrangler's configuration: see `docs/durable-objects.md`. An object holds the counts and records of one
 * tenant, decides about them, and deletes itself when nothing is left.
 *
 * @example
 * export { LimitsObject } from '@sluice/cloudflare/durable-object'
 * @example With an algorithm of your own
 * export class Limits extends LimitsObject {
 *   protected override readonly own = { algorithms: [gcra] }
 * }
 */
export class LimitsObject extends DurableObject {
  /** Algorithms and operations that are not Sluice's. */
  protected readonly own: OwnKinds = {}
  #limits: Limits | undefined

  /** Does what the text of a message asks for. Called by `durableObjects` alone. */
  sluice(message: string): Answer {
    const limits = this.#open()
    const wasStored = limits.isStored
    try {
      const answer = limits.call(message)
      // One alarm an object, from its first row on.
      if (!wasStored && limits.isStored) void this.ctx.storage.setAlarm(limits.nextSweep())
      return answer
    } catch (error) {
      // The next call loads what is stored. What this one has not stored has not happened.
      this.ctx.abort(error instanceof Error ? error.message : String(error))
      throw error
    }
  }

  /** Drops what has expired, and deletes the object when nothing is left. Called by the platform. */
  override async alarm(): Promise<void> {
    const next = this.#open().sweep()
    if (next !== undefined) return this.ctx.storage.setAlarm(next)
    this.#limits = undefined
    await this.ctx.storage.deleteAll()
  }

  #open(): Limits {
    this.#limits ??= new Limits(this.ctx.storage.sql, kindsOf(this.own))
    return this.#limits
  }
}
