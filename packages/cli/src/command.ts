import type { ParseArgsConfig } from 'node:util'
import { CommandError } from './errors.ts'
import { option } from './wording.ts'

/** The output of a command. */
export interface Result {
  readonly text: string
  /** The same for programs: `--json`. */
  readonly json: unknown
  /** @default 0 */
  readonly exitCode?: number
  /**
   * The end of what the command has started, such as a store, with the exit code. @default it has started nothing
   */
  readonly ended?: Promise<number>
}

/** Where a command runs. */
export interface Place {
  /** The folder of the project. */
  readonly folder: string
  /**
   * Returns a signal that aborts at Ctrl-C; its reason is `SIGINT`, `SIGTERM` or `SIGHUP`. A command that calls it ends by itself
   * from then on.
   */
  readonly stopSignal: () => AbortSignal
  /** Runs another command line here. @throws CommandError */
  readonly run: (line: readonly string[]) => Promise<Result>
}

/** The options of a command line, as Node's own parser reads them. */
export type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

/** A command of `sluice`. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  readonly usage: string
  readonly options: NonNullable<ParseArgsConfig['options']>
  /** True if it has more than options; `'after --'` if that is a command line of its own. */
  readonly takesArguments?: true | 'after --'
  /**
   * Runs it.
   *
   * @throws CommandError When it cannot be done.
   */
  run(values: Values, positionals: readonly string[], place: Place): Promise<Result>
}

/** Returns the text of an option, if it is given. */
export const textOf = (values: Values, name: string): string | undefined =>
  values[name] as string | undefined

/** Returns the number of an option, from 1. @throws CommandError */
export function countOf(values: Values, name: string, otherwise: number): number {
  const text = textOf(values, name)
  if (text === undefined) return otherwise
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  throw new CommandError(`${option(name)} ${text} must be a number from 1`)
}

/** Returns the texts of an option that may be repeated. */
export const listOf = (values: Values, name: string): readonly string[] =>
  (values[name] as readonly string[] | undefined) ?? []
