/* A change for the settings that somebody has looked at, and for no others. */
import { CHANGED } from './change-text.ts'
import type { Values } from './command.ts'
import { textOf } from './command.ts'
import { CommandError } from './errors.ts'
import { command, option } from './wording.ts'

export const VERSION_OPTION = { 'if-version': { type: 'string' } } as const

export const VERSION_USAGE = `  --if-version VERSION  only if nobody has changed the settings since: "none" if there were none`

const NONE = 'none'

/** @throws CommandError When the settings are not those of the version that a command line names. */
export function assertVersion(values: Values, version = ''): void {
  const given = textOf(values, 'if-version')
  if (given === undefined || given === (version || NONE)) return
  throw new CommandError(
    `somebody has changed the settings since that version. Look again: ${command('log')}, and the same without ${option('yes', true)}`,
    { code: 'store_conflict' },
  )
}

/** Returns the end of what a command prints about settings. */
export const endOf = (name: string, isMade: boolean, version: string): string =>
  isMade
    ? CHANGED
    : `Nothing is changed. To change it: ${command(name, { yes: true, 'if-version': version || NONE })}`
