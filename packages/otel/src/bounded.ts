/**
 * Returns a function that lets the first `max` distinct values through and replaces the others by
 * `'other'`, so that a metric's label has a bounded number of values.
 */
export function boundedValues(max: number): <T extends string | undefined>(value: T) => T | string {
  const known = new Set<string>()
  return (value) => {
    if (value === undefined || known.has(value)) return value
    if (known.size >= max) return 'other'
    known.add(value)
    return value
  }
}

/** Sets an entry, and drops the oldest if there are then more than `max`. */
export function setBounded<Key, Value>(
  map: Map<Key, Value>,
  key: Key,
  value: Value,
  max: number,
): void {
  map.set(key, value)
  if (map.size <= max) return
  const [oldest = key] = map.keys()
  map.delete(oldest)
}
