import type { Store } from '@sluice/core'

/** A store, and a way to wait for what was begun in the background. */
export interface PendingStore {
  readonly store: Store
  /** Resolves when all that the store was asked, and what follows from its answers, has come back. */
  readonly settled: () => Promise<void>
}

/** Remembers which calls of a store are under way: a pause would be too short on a busy machine. */
export function withPending(store: Store): PendingStore {
  const pending = new Set<Promise<unknown>>()
  const track = (call: Promise<unknown>): Promise<unknown> => {
    const end = (): void => void pending.delete(call)
    pending.add(call)
    void call.then(end, end)
    return call
  }
  const proxy = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const method = (value as (...args: unknown[]) => unknown).bind(target)
      if (name !== 'check' && name !== 'run') return method
      return (...args: unknown[]) => track(method(...args) as Promise<unknown>)
    },
  })
  return {
    store: proxy,
    async settled() {
      do {
        await Promise.allSettled(pending)
        await new Promise((resolve) => setImmediate(resolve))
      } while (pending.size > 0)
    },
  }
}
