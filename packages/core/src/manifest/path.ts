import { ConfigError } from '../errors.ts'

/** Runs `make`. An error about an option below `option` is thrown as one below `path`. */
export function atPath<T>(option: string, path: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof ConfigError) || !error.option.startsWith(option)) throw error
    throw new ConfigError(
      error.code,
      error.option.replace(option, () => path),
      error.reason,
    )
  }
}
