import { ConfigError } from '@sluice/core'

/** Creates the error for an option. The command prints its name with `--` before it. */
export const optionError = (
  option: string,
  message: string,
  ...given: [given?: unknown]
): ConfigError => new ConfigError('invalid_option', option, message, ...given)
