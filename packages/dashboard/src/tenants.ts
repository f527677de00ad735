import type { TenantView, Totals } from './view.ts'
import { DayCount } from './day-count.ts'
import { Tenant } from './tenant.ts'
import { NO_COUNTS, NO_LEVELS, addCounts, type Levels } from './totals.ts'
import { MAX_TENANTS } from './view.ts'

/** The tenants that were active last, and the sums of all. */
export class Tenants {
  /** The least recently active one is first. */
  readonly #tenants = new Map<string, Tenant>()
  /** The sums of all tenants' amounts. */
  #levels = NO_LEVELS
  /** The counts of tenants that are not remembered any more, and their tokens. */
  #others = NO_COUNTS
  readonly #othersTokens = new DayCount()

  get levels(): Levels {
    return this.#levels
  }

  totalsAt(now: number): Totals {
    const others = { ...this.#others, tokens: this.#othersTokens.read(now) }
    const counts = Array.from(this.#tenants.values(), (tenant) => tenant.countsAt(now))
    return { ...counts.reduce(addCounts, others), ...this.#levels }
  }

  has(name: string): boolean {
    return this.#tenants.has(name)
  }

  /** Changes a tenant at the time `now`. Returns it. */
  change(name: string, now: number, version: number, update: (tenant: Tenant) => void): Tenant {
    const tenant = this.#tenantOf(name, now)
    const before = tenant.levels
    update(tenant)
    tenant.version = version
    tenant.lastAt = now
    this.#moveLevels(before, tenant.levels)
    return tenant
  }

  /** Drops a tenant and its part of the sums. */
  forget(name: string): void {
    const tenant = this.#tenants.get(name)
    if (tenant) this.#drop(tenant, NO_LEVELS)
  }

  /** Returns the tenants that have changed after `version`. */
  since(version: number, now: number): TenantView[] {
    const changed = [...this.#tenants.values()].filter((tenant) => tenant.version > version)
    return changed.map((tenant) => tenant.view(now))
  }

  #tenantOf(name: string, now: number): Tenant {
    const tenant = this.#tenants.get(name) ?? new Tenant(name)
    this.#tenants.delete(name)
    this.#tenants.set(name, tenant)
    const [oldest] = this.#tenants.values()
    if (oldest && this.#tenants.size > MAX_TENANTS) {
      const counts = oldest.countsAt(now)
      this.#others = addCounts(this.#others, counts)
      this.#othersTokens.add(counts.tokens, now)
      this.#drop(oldest, { ...NO_LEVELS, avoidedUsd: oldest.avoidedUsd })
    }
    return tenant
  }

  #drop(tenant: Tenant, kept: Levels): void {
    this.#tenants.delete(tenant.name)
    this.#moveLevels(tenant.levels, kept)
  }

  #moveLevels(from: Levels, to: Levels): void {
    const { usedUsd, heldUsd, budgetUsd, avoidedUsd } = this.#levels
    this.#levels = {
      usedUsd: usedUsd + to.usedUsd - from.usedUsd,
      heldUsd: heldUsd + to.heldUsd - from.heldUsd,
      budgetUsd: budgetUsd + to.budgetUsd - from.budgetUsd,
      avoidedUsd: avoidedUsd + to.avoidedUsd - from.avoidedUsd,
    }
  }
}
