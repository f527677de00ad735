import { ConfigError, type ConfigErrorCode } from '@sluice/core'
import { expect, it } from 'vitest'

/** A mistake, the option that must be named, and the code. */
export type Mistake = readonly [
  mistake: string,
  make: () => unknown,
  option: string,
  code?: ConfigErrorCode,
]

/** Calls with options that TypeScript would refuse, as JavaScript does. */
export const loosely =
  <T>(make: (options: never) => T) =>
  (options: unknown): T =>
    make(options as never)

export const show = (value: unknown): string =>
  typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'undefined')

/** Makes a test of each mistake: it is found at construction, named and coded. */
export function mistakesAreNamed(mistakes: readonly Mistake[]): void {
  it.each(mistakes.map(([mistake, ...rest]) => ({ mistake, rest })))(
    '$mistake',
    ({ rest: [make, option, code = 'invalid_option'] }) => {
      const error = thrownBy(make)
      expect(error).toBeInstanceOf(ConfigError)
      expect(error).toMatchObject({ code, option })
      // The value may be a secret.
      expect((error as Error).message).not.toMatch(/u:p|auth-/)
    },
  )
}

function thrownBy(make: () => unknown): unknown {
  try {
    make()
  } catch (error) {
    return error
  }
  return undefined
}
