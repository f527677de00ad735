/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** Returns true if `value` is an object and not a list. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object that it is, or an empty one. */
export const objectOf = (value: unknown): Json => (isObject(value) ? value : {})

/** The objects in a list; none in anything else. */
export const objectsIn = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter(isObject) : []

/** A field of its own, whatever it inherits. */
export const own = (object: Json, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Returns the length of a text in UTF-8. */
export const byteLength = (text: string): number => new TextEncoder().encode(text).length

/** Returns false for a value that says nothing, as clients write it. */
export const isGiven = (value: unknown): boolean => value !== undefined && value !== null
