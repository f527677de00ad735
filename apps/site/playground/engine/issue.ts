import { ConfigError, InputError, SluiceError } from '@sluice/core'

/** A mistake in a scenario: the field at fault, such as `policies.0.limit`, and the product's own words about it. */
export class Issue extends Error {
  override readonly name = 'Issue'
  readonly path: string
  /** The section of `docs/errors.md`. */
  readonly code: string

  constructor(path: string, { code, message }: Pick<SluiceError, 'code' | 'message'>) {
    super(message.replace(/^Sluice: /, '').replace(/ \(docs\/errors\.md#\w+\)$/, ''))
    this.path = path
    this.code = code
  }
}

/** Creates the issue of a value that the page itself refuses, worded as the product words it. */
export const refused = (
  path: string,
  option: string,
  reason: string,
  ...given: [unknown?]
): Issue => new Issue(path, new ConfigError('invalid_option', option, reason, ...given))

/**
 * Resolves to the result of `make`. A mistake becomes an issue of the field of `path` that its option names, or else of
 * `path` as a whole.
 */
export async function withIssues<T>(
  path: string,
  fields: object,
  make: () => T | Promise<T>,
): Promise<T> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof Issue || !(error instanceof SluiceError)) throw error
    const option =
      error instanceof ConfigError ? error.option : error instanceof InputError ? error.input : ''
    const field = option.split('.').findLast((part) => Object.hasOwn(fields, part))
    throw new Issue(field === undefined ? path : `${path}.${field}`, error)
  }
}
