import { ConfigError, type SluiceError } from '@sluice/core'

/** A mistake in a scenario: the field at fault, such as `policies.0.limit`, and the product's own words about it. */
export class Issue extends Error {
  override readonly name = 'Issue'
  readonly path: string
  /** The section of `docs/errors.md`, if the product has thrown it. */
  readonly code: string | undefined

  constructor(
    path: string,
    { code, message }: { readonly code?: string; readonly message: string },
  ) {
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
    if (error instanceof Issue || !isOfProduct(error)) throw error
    const field = optionOf(error)
      .split('.')
      .findLast((part) => Object.hasOwn(fields, part))
    throw new Issue(field === undefined ? path : `${path}.${field}`, error)
  }
}

/** A built page may hold the classes of the product twice, so its errors are known by their shape. */
export const isOfProduct = (error: unknown): error is SluiceError =>
  error instanceof Error && 'code' in error && error.message.startsWith('Sluice: ')

/** Returns the option or the input that an error of the product names. */
export const optionOf = (error: SluiceError): string =>
  ('option' in error && String(error.option)) || ('input' in error && String(error.input)) || ''

/** Returns the issue of any error, so that each is shown. */
export function issueOf(error: unknown): Issue {
  if (error instanceof Issue) return error
  if (isOfProduct(error)) return new Issue('', error)
  const message = error instanceof Error ? error.message : String(error)
  return /import|module|fetch|network/i.test(message)
    ? new Issue('', {
        message: 'A part of this page cannot be loaded. Go online, and load it again',
      })
    : new Issue('', { message: `This cannot be run: ${message}` })
}
