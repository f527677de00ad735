/* The report of a command that has failed. */
import { printable } from '@sluice/core/internal/text'
import { CommandError } from './errors.ts'

/** The text of an error, for standard error, and with `--json` the same for standard output. */
export interface FailureText {
  readonly err: string
  readonly out: string | undefined
}

/** Returns what a command with these arguments prints of the error with which it has ended. */
export function failureText(error: unknown, args: readonly string[]): FailureText {
  const isExpected = error instanceof CommandError
  const text = isExpected ? error.message : ((error as Error).stack ?? String(error))
  const { code, message } = isExpected ? error : { code: 'unexpected', message: String(error) }
  // After "--" are the options of another command.
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  return {
    err: printable(`sluice: ${text}`),
    out: own.includes('--json')
      ? printable(JSON.stringify({ error: { code, message } }, null, 2))
      : undefined,
  }
}
