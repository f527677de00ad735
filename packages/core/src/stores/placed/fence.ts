/*
 * A fence: what a store keeps under a key of which another store has taken over the counts. Decisions and settlements
 * refuse it. In Redis it is a list, which nothing else of Sluice is.
 */
import { RedisError } from '../redis/transport.ts'

/** The value that a key had. */
export interface Copy {
  /** The milliseconds until it expires; below 0 if never, 0 if nothing is left of it. */
  readonly ttlMs: number
  /** The type of the value, and the value. */
  readonly parts: readonly unknown[]
}

const copies = new WeakMap<object, Copy>()

const refuse = (): never => {
  throw new RedisError('WRONGTYPE')
}

/** Returns a fence for a store in memory. Whoever looks at it as at a state gets the error that Redis gives. */
export function createFence(copy: Copy): object {
  const fence = new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse })
  copies.set(fence, copy)
  return fence
}

/** Returns what was under the key of a fence, or `undefined` if `state` is none. */
export const copyBehind = (state: unknown): Copy | undefined => copies.get(state as object)

export const isFence = (state: unknown): boolean => copyBehind(state) !== undefined

/** The marker of a key that has arrived, or of a record that has gone. It has the tenant of the key, so it is in its place. */
const markerOf = (key: string): string => `${key}:moved`

/** Returns each key and its marker. */
export const withMarkers = (keys: readonly string[]): string[] =>
  keys.flatMap((key) => [key, markerOf(key)])

/** Lua that defines `typeOf`. Where a script gets the type as text, an index of it would be nil, and no type at all. */
export const TYPE_OF = `local function typeOf(key)
  local kind = redis.call('TYPE', key)
  return type(kind) == 'table' and kind.ok or kind
end
`
