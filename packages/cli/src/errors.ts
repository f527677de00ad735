import { ConfigError, InputError, SluiceError } from '@sluice/core'
import { OperatorError } from '@sluice/core/operator'
import { command, dimensionOption, option } from './wording.ts'

/** A mistake in a command, or something that it cannot do here. Its text says what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  /** The code of the limiter's own error, such as `store_unreachable`; else `invalid_command`. */
  readonly code: string

  constructor(message: string, options: { readonly code?: string; readonly cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = options.code ?? 'invalid_command'
  }
}

/** Ends a command that cannot be done. The text says what to do. @throws CommandError */
export function refuse(text: string): never {
  throw new CommandError(text)
}

/**
 * Loads a package that only some commands need.
 *
 * @param names What has to be installed, as npm takes it.
 * @throws CommandError When it is not installed.
 */
export const installed = async <Module>(
  names: string,
  load: () => Promise<Module>,
): Promise<Module> =>
  (await ifInstalled(load)) ??
  refuse(`needs ${names.replaceAll(' ', ' and ')}: npm install --save-dev ${names}`)

/** Loads a package. Returns `undefined` if it is not installed. */
export const ifInstalled = <Module>(load: () => Promise<Module>): Promise<Module | undefined> =>
  load().catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    return undefined
  })

/** Returns an error of the limiter in the words of a command. Others stay as they are. */
export function asCommandError(error: unknown): unknown {
  if (error instanceof OperatorError) return new CommandError(error.message)
  if (!(error instanceof SluiceError)) return error
  return new CommandError(textOf(error), { code: error.code, cause: error })
}

/** The options of functions that say who changes something. */
const AUTHOR = /^(?:configureAs|applyConfiguration|undoConfiguration)\.(by|note)$/

/** Failures of the store of which an operator wants to know more. One that refuses says why itself. */
const OF_STORE = /^store_(unreachable|timeout|unauthorized)$/

function textOf(error: SluiceError): string {
  const [, author] = (error instanceof ConfigError && AUTHOR.exec(error.option)) || []
  if (author !== undefined) return `${option(author)} ${(error as ConfigError).reason}`
  if (error instanceof InputError && error.code === 'missing_dimension') {
    const missing = error.input.replace(/^subject\./, '')
    return `a policy counts by ${missing}: add ${dimensionOption(missing, 'NAME')}`
  }
  if (error instanceof ConfigError && error.option.startsWith('configure.')) {
    const path = error.option.slice('configure.'.length)
    const [, expected] = /^unknown option; expected (.*)$/.exec(error.reason) ?? []
    if (expected === undefined) return `${path}: ${error.reason}`
    return `runtimeConfiguration does not allow to change ${path}, but ${expected}: add it to "allow" in your file of limits`
  }
  const { option: at = error instanceof InputError && error.input } = error as Partial<ConfigError>
  // The page that the message names is not in the folder of the project.
  const text = `${at ? `${at}: ` : ''}${error.reason} (${error.code})`
  return OF_STORE.test(error.code) ? `${text}. To find out why: ${command('doctor')}` : text
}
