import { ConfigError } from '@sluice/core'
import type { LuaOperation, LuaOperationKind, OperationKind, Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { kindsOf } from '@sluice/core/internal/journal'
import { leased, reserveFromLeases } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { movedFrom } from '@sluice/core/moves'
import { placeLeases } from '@sluice/core/place-leases'
import { regional } from '@sluice/core/regional'
import { sharded } from '@sluice/core/sharded'
import { describe, expect, it } from 'vitest'
import { unreachable } from './breaker/support.ts'

/** Names of Sluice's own operations that some stores treat specially. */
const NAMES = ['settle', 'release', 'write']

/** An operation of a user's own with one of these names. Its data is none of Sluice's. */
const kindOf = (name: string): LuaOperationKind<number, number> => ({
  name,
  run(states, { keys: [key = ''], data: by }) {
    const count = ((states.get(key, 0) as number | undefined) ?? 0) + by
    states.set(key, { state: count, expiresAt: Infinity })
    return count
  },
  lua: {
    script: () => `return redis.call('INCRBY', KEYS[1], ARGV[1])`,
    args: (by) => [String(by)],
    parse: (reply) => (typeof reply === 'number' ? { result: reply } : undefined),
  },
})

const operationOf = (name: string, key: string): LuaOperation<number, number> => ({
  kind: kindOf(name),
  keys: [key],
  data: 3,
  startedAt: Date.now(),
})

const databases = () => ({ a: memory(), b: memory() })

const STORES: Record<string, () => Store> = {
  memory: () => memory(),
  batched: () => batched(memory()),
  cacheDenials: () => cacheDenials(memory()),
  breaker: () => breaker(memory()),
  leased: () => leased(memory()),
  'leased with reservations': () => leased(memory(), { reservations: reserveFromLeases }),
  sharded: () => sharded(databases()),
  'sharded with leases': () => sharded(databases(), { leases: placeLeases }),
  regional: () => regional({ home: memory(), here: memory() }),
}

describe.each(NAMES)('an operation of your own that is named %s', (name) => {
  it.each(Object.keys(STORES))('runs in a store of the kind: %s', async (kind) => {
    const store = (STORES[kind] as () => Store)()
    const operation = operationOf(name, `own:tenant=${crypto.randomUUID()}`)
    expect(await store.run(operation)).toBe(3)
    expect(await store.run(operation)).toBe(6)
  })

  it('is not sent while a breaker is open', async () => {
    let error: Error | undefined = unreachable()
    const inner = memory()
    const failing: Store = {
      ...inner,
      run: (operation) => (error ? Promise.reject(error) : inner.run(operation)),
    }
    const store = breaker(failing, { failures: 1, pauseMs: 60_000 })
    const operation = operationOf(name, 'own:tenant=acme')
    await expect(store.run({ ...operation, kind: kindOf('other') })).rejects.toBe(error)
    error = undefined
    await expect(store.run(operation)).rejects.toMatchObject({ code: 'store_paused' })
  })

  it('counts a key in one database only when its tenant moves to another', async () => {
    expect(await countsOfMoved(name)).toEqual(await countsOfMoved('other'))
  })

  it('is refused by a place, which finds operations by name', () => {
    const operations = [kindOf(name)] as OperationKind<unknown>[]
    expect(() => kindsOf({ operations })).toThrow(ConfigError)
  })
})

/** Counts in three databases by an operation of this name, and with the old list of two before and after by another. */
async function countsOfMoved(name: string): Promise<unknown[]> {
  const stores = { ...databases(), c: memory() }
  const old = sharded({ a: stores.a, b: stores.b })
  const joined = sharded(stores, { from: movedFrom({ stores: ['a', 'b'] }) })
  const counts: unknown[] = []
  for (let tenant = 0; tenant < 16; tenant += 1) {
    const count = async (store: Store, by: string): Promise<unknown> =>
      store.run(operationOf(by, `own:tenant=t${tenant}`)).catch(({ code }) => code)
    counts.push(await count(old, 'other'), await count(joined, name), await count(old, 'other'))
  }
  expect(counts).toContain('store_moved')
  return counts
}
