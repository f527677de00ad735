const wrappers = new WeakSet()

/** Notes that a store answers some requests without the store that it wraps. Returns that store. */
export function noteWrapper<T extends object>(store: T): T {
  wrappers.add(store)
  return store
}

/** Returns true for a store that has been noted, and for one of leases, which shows by its method. */
export const isWrapper = (store: object): boolean => wrappers.has(store) || 'returnUnits' in store
