import {
  createLimiter,
  fixedWindow,
  StoreError,
  type Operation,
  type PolicyRule,
  type Store,
  type StoreErrorCode,
  type StoreRequest,
} from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { lease, leased, reserveFromLeases } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { movedFrom } from '@sluice/core/moves'
import { placeLeases } from '@sluice/core/place-leases'
import { regional } from '@sluice/core/regional'
import { sharded } from '@sluice/core/sharded'
import { expect, it } from 'vitest'

const WRAPPERS: Record<string, (store: Store) => Store> = {
  batched: (store) => batched(store),
  breaker: (store) => breaker(store),
  cacheDenials: (store) => cacheDenials(store),
  leased: (store) => leased(store),
  'leased with reservations': (store) => leased(store, { reservations: reserveFromLeases }),
  sharded: (store) => sharded({ a: store }),
  'sharded with leases': (store) => sharded({ a: store }, { leases: placeLeases }),
  'sharded with moves': (store) =>
    sharded({ a: store, b: store }, { from: movedFrom({ stores: ['a'] }) }),
  regional: (store) => regional({ home: store, here: store }),
}

const CODES = Object.keys({
  store_timeout: 1,
  store_unreachable: 1,
  store_unauthorized: 1,
  store_refused: 1,
  store_bad_reply: 1,
  store_failed: 1,
  store_conflict: 1,
  store_moved: 1,
  store_paused: 1,
} satisfies Record<StoreErrorCode, 1>) as StoreErrorCode[]

/** Code words that a store may take for the fence of a tenant that has moved, and another. */
const WORDS = [undefined, 'OOM', 'WRONGTYPE', 'ERR']

const operation: Operation<number> = {
  kind: { name: 'test.fails', run: () => 1 },
  keys: ['own:tenant=acme'],
  data: undefined,
  startedAt: Date.now(),
}

it.each(Object.keys(WRAPPERS))(
  'the failure of a store keeps its code, word and status in %s',
  async (name) => {
    for (const code of CODES) {
      for (const word of WORDS) {
        const fail = () =>
          Promise.reject(Object.assign(new StoreError(code, 'is down', 503), { word }))
        const store = WRAPPERS[name]?.({ check: fail, run: fail, reset: fail })
        for (const call of [store?.run(operation), store?.reset(operation.keys)]) {
          const error = await call?.catch((thrown: unknown) => thrown)
          expect(error).toMatchObject({ name: 'StoreError', code, word, status: 503 })
          const { message, reason } = error as StoreError
          expect(reason).toMatch(/^(\w+: )?is down$/)
          expect(message).toBe(`Sluice: ${reason} (docs/errors.md#${code})`)
        }
      }
    }
  },
)

/** A store that is a class, whose methods need it. */
class Own implements Store {
  readonly asked: string[] = []
  readonly #inner: Store = memory()

  check(request: StoreRequest) {
    return this.#inner.check(request)
  }

  run<Result>(one: Operation<Result>) {
    return this.#inner.run(one)
  }

  reset(keys: readonly string[]) {
    return this.#inner.reset(keys)
  }

  accept(policies: readonly PolicyRule[]): void {
    this.asked.push(...policies.map(({ name }) => name))
  }

  placeOf(): string {
    return `the only place, asked ${this.asked.length} times`
  }
}

it.each(Object.entries(WRAPPERS))(
  '%s asks a store that is a class about policies',
  (name, wrap) => {
    const store = new Own()
    const tenant = fixedWindow({ name: 'tenant', limit: 5, window: '1m', per: ['tenant'] })
    const policy = /leased|regional/.test(name) ? lease(tenant) : tenant
    const { accept } = createLimiter({ store: wrap(store), policies: [policy] }) && wrap(store)
    // As wrappers around wrappers pass it on.
    expect(() => accept?.(policy())).not.toThrow()
    const isAsked = name !== 'regional'
    expect(store.asked.includes('tenant')).toBe(isAsked)
  },
)
