/** Sets an entry. Above `max` entries, the oldest are dropped. */
export function setBounded<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= max) break
    map.delete(oldest)
  }
}
