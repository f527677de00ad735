import { ConfigError } from '@sluice/core'

/** The option that an error names, and its text. */
export function refusal(make: () => unknown): [string | undefined, string] {
  try {
    make()
  } catch (error) {
    if (error instanceof ConfigError) return [error.option, error.message]
  }
  return [undefined, 'nothing was thrown']
}
