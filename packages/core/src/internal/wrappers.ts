const wrappers = new WeakSet()

/** Notes that a store answers some requests without the store that it wraps. Returns that store. */
export function noteWrapper<T extends object>(store: T): T {
  wrappers.add(store)
  return store
}

/** Returns true if the store answers some requests without the store that it wraps. */
export const isWrapper = (store: object): boolean => wrappers.has(store)
