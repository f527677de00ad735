/*
 * A fence: the value of a key whose counts another store has taken over. Decisions and settlements refuse it. In Redis it
 * is a list, which nothing else of Sluice is.
 */
import { RedisError } from '../stores/redis/transport.ts'

/** The state that a key had in memory. */
export interface StateCopy {
  /** Undefined if nothing is left of it. */
  readonly state: unknown
  /** The time at which it expires (epoch ms). 0 if nothing is left of it. */
  readonly expiresAt: number
}

/** The value that a key had in Redis. */
export interface ValueCopy {
  /** The milliseconds until it expires; below 0 if never, 0 if nothing is left of it. */
  readonly ttlMs: number
  /** The type of the value, and the value. */
  readonly parts: readonly string[]
}

/** The copy of a key, by the kind of its store. */
export type Copy = StateCopy | ValueCopy

const copies = new WeakMap<object, StateCopy>()

const refuse = (): never => {
  throw new RedisError('WRONGTYPE')
}

/** Returns a fence for a store in memory. To read it as a state throws the error that Redis gives. */
export function createFence(copy: StateCopy): object {
  const fence = new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse })
  copies.set(fence, copy)
  return fence
}

/** Returns the copy that a fence keeps, or `undefined` if `state` is no fence. */
export const copyBehind = (state: unknown): StateCopy | undefined => copies.get(state as object)

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
