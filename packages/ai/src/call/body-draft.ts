import { isGiven, isObject, objectOf, own, type Json } from '../json.ts'
import { effortsOf, isEffort, nearestEffort } from './model-traits.ts'

/** A body that is changed for another model. The body that it began with stays as it is. */
export class BodyDraft {
  /** The paths of the fields that were left out or lowered. */
  readonly changed: string[] = []
  /** The first field that the model refuses and that the caller needs, and the reason. */
  refusal: readonly [field: string, because: string] | undefined
  body: Json

  constructor(body: Json) {
    this.body = body
  }

  /** Returns the value at a path, such as `reasoning.effort`. */
  get(path: string): unknown {
    return path.split('.').reduce<unknown>((value, name) => own(objectOf(value), name), this.body)
  }

  /** Puts a value at a path. Without one, leaves the field out, and a parent that has no other. */
  put(path: string, value?: unknown): void {
    const old = this.get(path)
    if (value === old || (value === undefined && !isGiven(old))) return
    this.body = withValue(this.body, path.split('.'), value)
    this.changed.push(path)
  }

  /** Records that the model cannot take the call, unless that is known. */
  refuse(field: string, because: string): void {
    this.refusal ??= [field, because]
  }

  /** Lowers an effort to one that the model takes. It is left out for a model that does not reason. */
  fitEffort(path: string, to: string): void {
    const asked = this.get(path)
    const efforts = effortsOf(to)
    if (!efforts || !isEffort(asked) || efforts.includes(asked)) return
    if (asked === 'none' && efforts[0]) this.refuse(path, 'it always reasons')
    else this.put(path, nearestEffort(asked, efforts))
  }
}

function withValue(object: Json, [name = '', ...rest]: string[], value: unknown): Json {
  const inner = rest[0] ? withValue(objectOf(own(object, name)), rest, value) : value
  const isEmpty = rest[0] ? Object.keys(inner as Json).length === 0 : inner === undefined
  return isEmpty ? without(object, name) : { ...object, [name]: inner }
}

/** Yields each object in a value. The input of a tool is data of the caller's. */
export function* partsIn(value: unknown): Generator<Json> {
  if (Array.isArray(value)) for (const item of value) yield* partsIn(item)
  if (!isObject(value)) return
  yield value
  for (const [name, inner] of Object.entries(value)) if (name !== 'input') yield* partsIn(inner)
}

/** Returns an object without a field of its own. */
export const without = (object: Json, field: string): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== field))

/** Returns a value without a field, wherever it lies. */
export function withoutField(value: unknown, field: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutField(item, field))
  if (!isObject(value)) return value
  const kept = Object.entries(without(value, field))
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutField(inner, field)]))
}
