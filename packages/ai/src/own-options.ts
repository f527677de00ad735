import { ConfigError } from '@sluice/core'

/**
 * Creates the policy of an option of `factory`. Errors name the options of `factory` instead of those of
 * the factory that `make` calls: `option` instead of its `limit`.
 */
export function withOwnOptions<T>(factory: string, option: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const name = error.option.replace(/^\w+/, factory).replace(/\.limit$/, `.${option}`)
    throw new ConfigError(error.code, name, error.reason)
  }
}
