/* The denials that an isolate has not saved yet: a bounded number, so that a flood takes no memory and no commands. */
import type { RecordedDenial } from './denial.ts'
import { dayOf } from '../hours.ts'

/** A denial to save. Its id may still be replaced by that of its request. */
export interface PendingDenial {
  id: string
  readonly denial: Omit<RecordedDenial, 'id'>
}

/** The denials of one tenant on one day. */
export interface DenialGroup {
  readonly tenant: string
  readonly day: number
  readonly denials: PendingDenial[]
}

/** The most denials of a tenant between two flushes, and the most tenants. */
const MOST_EACH = 20
const MOST_TENANTS = 100
/** The most tenants that are known to have no room left. */
const MOST_FULL = 10_000

export class PendingDenials {
  #groups = new Map<string, DenialGroup>()
  readonly #full = new Set<string>()

  /** Adds a denial. Returns it, or `undefined` if there is no room. */
  add(tenant: string, id: string, denial: Omit<RecordedDenial, 'id'>): PendingDenial | undefined {
    const day = dayOf(denial.at)
    const key = `${day} ${tenant}`
    if (this.#full.has(key)) return undefined
    const group = this.#groups.get(key) ?? { tenant, day, denials: [] }
    if (group.denials.length >= MOST_EACH) return undefined
    if (group.denials.length === 0) {
      if (this.#groups.size >= MOST_TENANTS) return undefined
      this.#groups.set(key, group)
    }
    const pending = { id, denial }
    group.denials.push(pending)
    return pending
  }

  /** Forgets all denials, and returns them. */
  take(): DenialGroup[] {
    const groups = [...this.#groups.values()]
    this.#groups = new Map()
    return groups
  }

  /** Notes that the store has no room for more of a tenant on this day. */
  close({ day, tenant }: DenialGroup): void {
    if (this.#full.size >= MOST_FULL) this.#full.clear()
    this.#full.add(`${day} ${tenant}`)
  }
}
