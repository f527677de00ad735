const wrappers = new WeakSet()

/** The wrappers that pass every request on to the store that they wrap. */
const passingWrappers = new WeakSet()

/** Notes that a store wraps another, and answers some requests without it. Returns that store. */
export function noteWrapper<T extends object>(store: T): T {
  wrappers.add(store)
  return store
}

/** Notes that a store wraps another, to which it passes every request on. Returns that store. */
export function notePassingWrapper<T extends object>(store: T): T {
  passingWrappers.add(store)
  return noteWrapper(store)
}

/** Returns true if the store wraps another. */
export const isWrapper = (store: object): boolean => wrappers.has(store)

/** Returns true if the store answers some requests without the store that it wraps. */
export const answersAlone = (store: object): boolean =>
  isWrapper(store) && !passingWrappers.has(store)
