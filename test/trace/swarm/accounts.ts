import type { Limiter } from '@sluice/core'
import { sum, type Entry } from './books.ts'
import type { Tenant } from './calls.ts'
import type { FaultyRedis } from './faulty-redis.ts'
import type { Amounts } from './journey.ts'

/** The use of a tenant by the limiter. */
interface Used extends Amounts {
  /** Calls in flight. */
  readonly calls: number
}

/** A tenant: its calls by the books, and what it has used by the store and by the memory beside it. */
export interface Account {
  readonly tenant: Tenant
  readonly entries: readonly Entry[]
  readonly store: Used
  readonly memory: Used
}

/** Returns the accounts of all tenants that have made a call. */
export async function accountsOf(
  entries: readonly Entry[],
  limiter: Limiter,
  redis: FaultyRedis,
): Promise<Account[]> {
  const byTenant = new Map<Tenant, Entry[]>()
  for (const entry of entries) {
    const { tenant } = entry.journey.call
    byTenant.set(tenant, [...(byTenant.get(tenant) ?? []), entry])
  }
  const tenants = [...byTenant.keys()]
  const peekAll = () => Promise.all(tenants.map((tenant) => usedBy(tenant, limiter)))
  const store = await peekAll()
  redis.isDown = true
  const memory = await peekAll()
  redis.isDown = false
  return tenants.map((tenant, at) => ({
    tenant,
    entries: byTenant.get(tenant)!,
    store: store[at]!,
    memory: memory[at]!,
  }))
}

async function usedBy({ name }: Tenant, limiter: Limiter): Promise<Used> {
  // By the limits of the larger plan, because what remains is never below 0.
  const subject = { tenant: name, plan: 'roomy' }
  const { policies } = await limiter.peek(subject, {
    cost: { request: 0, call: 0, token: 0, usd: 0 },
  })
  const used = (unit: string): number => {
    const policy = policies.find((one) => one.unit === unit)
    return policy ? policy.limit - policy.remaining : Number.NaN
  }
  return { token: used('token'), usd: used('usd'), calls: used('call') }
}

/** The places that charge: Redis, and the memory that decides while it fails. */
type Place = 'store' | 'memory'

/**
 * The charge for calls of this kind: all that the tenants have used, less the books' part of all other calls.
 * A call that both the store and the memory have counts once.
 */
function chargedFor(
  kind: Entry['kind'],
  accounts: readonly Account[],
  unit: keyof Amounts,
  places: readonly Place[],
): number {
  const used = accounts.flatMap((account) => places.map((place) => account[place]))
  const entries = accounts.flatMap((account) => account.entries)
  const chargedBy = ({ inStore, inMemory }: Entry): Amounts[] =>
    places.map((place) => (place === 'store' ? inStore : inMemory))
  const others = entries.filter((entry) => entry.kind !== kind).flatMap(chargedBy)
  const twice = entries
    .filter((entry) => entry.kind === kind && places.length > 1 && entry.inStore[unit] > 0)
    .map(({ inMemory }) => inMemory)
  return sum(used)[unit] - sum([...others, ...twice])[unit]
}

function billedFor(kind: Entry['kind'], accounts: readonly Account[], unit: keyof Amounts): number {
  const own = accounts.flatMap(({ entries }) => entries).filter((entry) => entry.kind === kind)
  return sum(own.map(({ billed }) => billed))[unit]
}

/** Charged divided by billed: in total, and of the tenants with the lowest and the highest. */
export function ratiosOf(
  kind: Entry['kind'],
  accounts: readonly Account[],
  unit: keyof Amounts,
  places: readonly Place[] = ['store', 'memory'],
): { readonly total: number; readonly lowest: number; readonly highest: number } {
  const ratio = (some: readonly Account[]): number =>
    chargedFor(kind, some, unit, places) / billedFor(kind, some, unit)
  const having = accounts.filter(({ entries }) => entries.some((entry) => entry.kind === kind))
  const each = having.map((account) => ratio([account]))
  return { total: ratio(having), lowest: Math.min(...each), highest: Math.max(...each) }
}
