import { StoreError, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { usage } from '@sluice/usage/report'
import { recording } from '../support.ts'

export const SUBJECT = { tenant: 'acme' }
export const COST = { cost: { token: 1 } }

const down = (): Promise<never> => Promise.reject(new StoreError('store_unreachable', 'down'))

/** A store whose flushes are counted, and fail or lose their reply if told to. */
export function countedStore(): {
  store: Store
  flushes: () => number
  fail: (how?: 'before' | 'after') => void
} {
  const inner = memory()
  let [flushes, failure] = [0, undefined as 'before' | 'after' | undefined]
  const store: Store = {
    ...inner,
    async run(operation) {
      if (operation.kind.name !== 'usage.add') return inner.run(operation)
      flushes += 1
      if (failure === 'before') return down()
      const result = await inner.run(operation)
      return failure === 'after' ? down() : result
    },
  }
  return { store, flushes: () => flushes, fail: (how) => void (failure = how) }
}

/** Returns the requests by tenant that a store has, read by a process that has counted nothing. */
export async function savedIn(store: Store): Promise<[tenant: string, requests: number][]> {
  const { rows } = await usage(recording(undefined, { store }).limiter)
  return rows.map(({ tenant, requests }) => [tenant, requests])
}
