import type { ParseArgsConfig } from 'node:util'
import { refuse } from './errors.ts'
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

export interface Command {
  /** One line for the list of commands. */
  readonly summary: string
  /** The text of `--help`. It lists the options: no other ones are taken. */
  readonly usage: string
  /** True if it has more than options; `'after --'` if that is a command line of its own. */
  readonly takesArguments?: true | 'after --'
  /** Runs it. @throws CommandError When it cannot be done. */
  run(values: Values, positionals: readonly string[], place: Place): Promise<Result>
}

/**
 * Returns the options that a usage text lists, a line each: an option with a value names it, such as `--top N`, and one that is
 * "repeatable" has several. A line may name others of the same kind: "also --user".
 */
export function optionsIn(usage: string): NonNullable<ParseArgsConfig['options']> {
  const lines = usage.matchAll(/^ {2}--([\w-]+)( \S+)?( .*)$/gm)
  return Object.fromEntries(
    [...lines].flatMap(([, name = '', value, text = '']) => {
      const [, others = ''] = /also (--\w+(?:, --\w+)*)/.exec(text) ?? []
      const names = [name, ...others.split(', ').map((other) => other.slice(2))]
      const type = value === undefined ? ('boolean' as const) : ('string' as const)
      const kind = { type, multiple: text.includes('; repeatable') }
      return names.filter((one) => one !== '').map((one) => [one, kind])
    }),
  )
}

export const optionNames = (usage: string): string[] => Object.keys(optionsIn(usage))

export const textOf = (values: Values, name: string): string | undefined =>
  values[name] as string | undefined

/** Returns the number of an option, from 1. @throws CommandError */
export function countOf(values: Values, name: string, otherwise: number): number {
  const text = textOf(values, name)
  if (text === undefined) return otherwise
  if (/^[1-9]\d*$/.test(text)) return Number(text)
  return refuse(`${option(name)} ${text} must be a number from 1`)
}

export const listOf = (values: Values, name: string): readonly string[] =>
  (values[name] as readonly string[] | undefined) ?? []

/**
 * Returns the entry of a name. The refusal repeats the name only if that cannot be a key or a password, because logs keep
 * the text.
 *
 * @param of The end of the refusal's first part, such as ` of sluice keys`.
 * @throws CommandError When there is none.
 */
export function entryOf<Entry>(
  entries: Readonly<Record<string, Entry>>,
  name: string,
  kind: string,
  of = '',
): Entry {
  if (Object.hasOwn(entries, name)) return entries[name] as Entry
  const none = /^[a-z][a-z-]{0,15}$/.test(name) ? `no ${kind} "${name}"` : `no such ${kind}`
  return refuse(`there is ${none}${of}; there are ${Object.keys(entries).join(', ')}`)
}
