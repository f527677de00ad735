import { ConfigError } from '../errors.ts'

/** What `make` returns; what it says of an option below `option` is said of one below `place`. */
export function inPlaceOf<T>(option: string, place: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.option.startsWith(option)) throw error
    const message = error.message.slice(`${error.option}: `.length)
    throw new ConfigError(error.code, place + error.option.slice(option.length), message)
  }
}

/** Returns `list` if it is one, or none if it is left out; else throws. */
export function listOf<T>(place: string, list: readonly T[] | undefined): readonly T[] {
  if (list === undefined || Array.isArray(list)) return list ?? []
  throw new ConfigError('invalid_option', place, 'must be a list')
}
