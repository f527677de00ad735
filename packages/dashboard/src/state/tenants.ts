import { DayCount } from './day-count.ts'
import { Tenant } from './tenant.ts'
import { movedSums, NO_COUNTS, NO_LEVELS, type Counts, type Levels } from '../totals.ts'
import { MAX_TENANTS, type Totals, type View } from '../view.ts'
import { byWeight } from '../weight.ts'

type ListedTenants = Pick<View, 'tenants' | 'isWholeList' | 'knownTenants' | 'isPartial'>

/** The tenants that stay in the list when it is full. The rest of it is for those that have just become active. */
const STAYING = 150
/** The most tenants whose dollars are known. */
const MAX_KNOWN = 20_000
/** The tenants that stay known when there are more. Many go at once, because finding them takes a sort. */
const STAYING_KNOWN = 19_000
const LOOK_EVERY_MS = 1_000

/**
 * All tenants. A list has the heaviest and the latest, with all their policies. Of the others the dollars are kept,
 * because a tenant that comes back brings those of its whole window.
 */
export class Tenants {
  readonly #known = new Map<string, Tenant>()
  #listed = new Map<string, Tenant>()
  /** The version at which tenants have left the list. */
  #listVersion = 0
  /** The counts of all tenants ever, without their tokens. */
  #counts = NO_COUNTS
  readonly #tokens = new DayCount()
  /** The sums of all tenants' amounts. */
  #levels = NO_LEVELS
  /** The time at which the last window of an unknown tenant ends. */
  #partialUntil = -Infinity
  #lookedAt = -Infinity

  get levels(): Levels {
    return this.#levels
  }

  totalsAt(now: number): Totals {
    return { ...this.#counts, tokens: this.#tokens.read(now), ...this.#levels }
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /** Changes a tenant at the time `now`. Returns it. */
  change(name: string, now: number, version: number, update: (tenant: Tenant) => void): Tenant {
    const tenant = this.#known.get(name) ?? new Tenant(name)
    this.#known.set(name, tenant)
    this.#listed.set(name, tenant)
    const before = tenant.countsAt(now)
    update(tenant)
    tenant.version = version
    tenant.lastAt = now
    this.#moveCounts(before, tenant.countsAt(now), now)
    this.#renewLevels(tenant, now)
    if (this.#known.size > MAX_KNOWN) this.#forgetLightest(now, version)
    if (this.#listed.size > MAX_TENANTS) this.#listHeaviest(this.#listed.values(), now, version)
    return tenant
  }

  /** Sets the dollars of windows that have ended to 0. Returns false if none has. */
  endWindows(now: number, version: number): boolean {
    if (Math.abs(now - this.#lookedAt) < LOOK_EVERY_MS) return false
    this.#lookedAt = now
    const ended = [...this.#known.values()].filter(
      ({ levels, usedUntil }) => levels.usedUsd > 0 && usedUntil <= now,
    )
    for (const tenant of ended) {
      tenant.version = version
      this.#renewLevels(tenant, now)
    }
    // Others may be heavier now.
    const isFull = this.#known.size > this.#listed.size
    if (isFull && ended.some(({ name }) => this.#listed.has(name))) {
      this.#listHeaviest(this.#known.values(), now, version)
    }
    return ended.length > 0
  }

  /** Drops a tenant and its part of the sums. */
  forget(name: string, now: number): void {
    const tenant = this.#known.get(name)
    if (!tenant) return
    this.#moveCounts(tenant.countsAt(now), NO_COUNTS, now)
    this.#drop(tenant, NO_LEVELS)
  }

  /** Returns the listed tenants: those that have changed after `version`, unless some have left the list since. */
  since(version: number, now: number): ListedTenants {
    const isWholeList = version < this.#listVersion
    const listed = [...this.#listed.values()]
    const wanted = isWholeList ? listed : listed.filter((tenant) => tenant.version > version)
    return {
      tenants: wanted.map((tenant) => tenant.view(now)),
      isWholeList,
      knownTenants: this.#known.size,
      isPartial: now < this.#partialUntil,
    }
  }

  #listHeaviest(tenants: Iterable<Tenant>, now: number, version: number): void {
    const heaviest = heaviestFirst(tenants, now).slice(0, STAYING)
    const before = this.#listed
    this.#listed = new Map(heaviest.map((tenant) => [tenant.name, tenant]))
    this.#listVersion = version
    for (const tenant of before.values()) {
      if (!this.#listed.has(tenant.name)) tenant.keepBudget()
    }
  }

  #forgetLightest(now: number, version: number): void {
    const all = heaviestFirst(this.#known.values(), now)
    for (const tenant of all.slice(STAYING_KNOWN)) {
      this.#partialUntil = Math.max(this.#partialUntil, tenant.usedUntil)
      // Avoided dollars are counted from the beginning on, in no window.
      this.#drop(tenant, { ...NO_LEVELS, avoidedUsd: tenant.levels.avoidedUsd })
    }
    this.#listVersion = version
  }

  /** Drops a tenant, and its part of the sums except `kept`. */
  #drop(tenant: Tenant, kept: Levels): void {
    this.#known.delete(tenant.name)
    this.#listed.delete(tenant.name)
    this.#moveLevels(tenant.levels, kept)
  }

  #renewLevels(tenant: Tenant, now: number): void {
    const before = tenant.levels
    tenant.levels = tenant.levelsAt(now)
    this.#moveLevels(before, tenant.levels)
  }

  #moveLevels(from: Levels, to: Levels): void {
    this.#levels = movedSums(this.#levels, from, to)
  }

  #moveCounts(from: Counts, to: Counts, now: number): void {
    this.#counts = movedSums(this.#counts, from, to)
    this.#tokens.add(to.tokens - from.tokens, now)
  }
}

function heaviestFirst(tenants: Iterable<Tenant>, now: number): Tenant[] {
  const weighed = Array.from(tenants, (tenant) => ({ tenant, weight: tenant.weightAt(now) }))
  return weighed.toSorted((a, b) => byWeight(a.weight, b.weight)).map(({ tenant }) => tenant)
}
