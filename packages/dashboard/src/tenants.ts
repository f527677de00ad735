import type { TenantView, Totals } from './view.ts'
import { Tenant } from './tenant.ts'
import { NO_COUNTS, NO_LEVELS, addCounts, type Levels } from './totals.ts'
import { MAX_TENANTS } from './view.ts'

/** The tenants that were active last, and the sums of all. */
export class Tenants {
  /** The least recently active one is first. */
  readonly #tenants = new Map<string, Tenant>()
  /** The sums of all tenants' amounts. */
  #levels = NO_LEVELS
  /** The counts of tenants that are not remembered any more. */
  #others = NO_COUNTS

  get levels(): Levels {
    return this.#levels
  }

  get totals(): Totals {
    return { ...[...this.#tenants.values()].reduce(addCounts, this.#others), ...this.#levels }
  }

  has(name: string): boolean {
    return this.#tenants.has(name)
  }

  /** Changes a tenant at the time `now`. Returns it. */
  change(name: string, now: number, version: number, update: (tenant: Tenant) => void): Tenant {
    const tenant = this.#tenantOf(name)
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
  since(version: number): TenantView[] {
    const changed = [...this.#tenants.values()].filter((tenant) => tenant.version > version)
    return changed.map((tenant) => tenant.view())
  }

  #tenantOf(name: string): Tenant {
    const tenant = this.#tenants.get(name) ?? new Tenant(name)
    this.#tenants.delete(name)
    this.#tenants.set(name, tenant)
    const [oldest] = this.#tenants.values()
    if (oldest && this.#tenants.size > MAX_TENANTS) {
      this.#others = addCounts(this.#others, oldest)
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
