import { DurableObject } from 'cloudflare:workers'
import { StoreError, type Store } from '@sluice/core'
import { kindsOf, PlaceStates, type Answer, type OwnKinds } from '@sluice/core/internal/journal'
import { durableObjects } from './durable-objects.ts'
import { ObjectJournal } from './object-journal.ts'
import { Place, type Leases, type PlaceChoices } from './place.ts'
import { parseName } from './names.ts'

/**
 * The longest that an object waits for home, in milliseconds. A caller waits for as long as its own `timeoutMs`; what
 * comes later is kept for the next.
 */
const HOME_TIMEOUT_MS = 30_000

/** Parts of an object that not everybody uses. */
export interface OwnParts extends OwnKinds {
  /** `objectLeases`, for policies that are leased. @default they are refused */
  readonly leases?: Leases
  /** `objectChoices`, to decide over the choices of a call at once. @default the object is asked for one after the other */
  readonly choices?: PlaceChoices
}

/**
 * The class of the objects in which `durableObjects` counts. Export it from the Worker, and declare it with SQLite
 * storage in Wrangler's configuration: see `docs/without-redis.md`. An object holds the counts and records of one
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
  /** Algorithms, operations, leases and choices. */
  protected readonly own: OwnParts = {}
  #journal: ObjectJournal | undefined
  #states: PlaceStates | undefined
  #place: Place | undefined

  /** Does what the text of a message asks for. Called by `durableObjects` alone. */
  sluice(message: string): Answer | Promise<Answer> {
    try {
      const answer = this.#open().call(message)
      return answer instanceof Promise ? answer.catch((error: unknown) => this.#die(error)) : answer
    } catch (error) {
      return this.#die(error)
    }
  }

  /** Drops what has expired, and deletes the object when nothing is left. Called by the platform. */
  override async alarm(): Promise<void> {
    this.#open()
    const next = this.#states?.sweep()
    if (next !== undefined) return this.ctx.storage.setAlarm(next)
    // Kept, because a decision may wait for home: two of them would write over each other's rows.
    this.#journal?.forget()
    const { storage } = this.ctx
    // In one step, before any other call writes. With an older compatibility date, the alarm is kept by the first.
    await Promise.all([storage.deleteAll(), storage.deleteAlarm()])
  }

  /** Ends the object: the next call loads what is stored. A change that was not stored has not happened. */
  #die(error: unknown): never {
    this.ctx.abort(error instanceof Error ? error.message : String(error))
    throw error
  }

  #open(): Place {
    if (this.#place) return this.#place
    const kinds = kindsOf(this.own)
    // One alarm an object, from its first row on.
    const journal = new ObjectJournal(this.ctx.storage.sql, () => {
      void this.ctx.storage.setAlarm(states.nextSweep())
    })
    const states = new PlaceStates(journal, kinds)
    this.#journal = journal
    this.#states = states
    const { leases, choices } = this.own
    const name = this.ctx.id.name ?? ''
    this.#place = new Place({
      name,
      states,
      kinds,
      leases,
      choices,
      home: () => homeOf(this.ctx, this.env),
    })
    return this.#place
  }
}

/**
 * Returns the store in the object that counts for all objects of this class.
 *
 * @throws StoreError When the Worker of the class has no binding of it.
 */
function homeOf({ id }: DurableObjectState, env: object): Store {
  const name = id.name ?? ''
  const { prefix } = parseName(name)
  const namespace = (Object.values(env) as DurableObjectNamespace<LimitsObject>[]).find(
    // Only this class has this id for the name.
    (binding) => typeof binding?.idFromName === 'function' && binding.idFromName(name).equals(id),
  )
  if (namespace) {
    return durableObjects(namespace, {
      shardBy: 'global',
      timeoutMs: HOME_TIMEOUT_MS,
      ...(prefix !== undefined && { prefix }),
    })
  }
  const message = 'The Durable Object needs a binding of its own class in its Worker, for leases'
  throw new StoreError('store_refused', message)
}
