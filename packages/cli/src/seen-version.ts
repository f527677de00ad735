/* A change for the settings that somebody has looked at, and for no others. */
import type { Limiter } from '@sluice/core'
import type { Author } from '@sluice/core/configuration'
import { CHANGED } from '@sluice/core/internal/operator'
import { authorOf } from './author.ts'
import { textOf, type Values } from './command.ts'
import { CommandError } from './errors.ts'
import { assertShared } from './shared-store.ts'
import { command, option } from './wording.ts'

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

/** Changes of the settings, or of prices, in the version that somebody has seen or made. */
interface Changes<Change> {
  readonly version: string
  readonly changes: readonly Change[]
}

/** Makes a change with `--yes`: what is shown is what is made, even if somebody else is at it. */
export async function changeSeen<Change>(
  values: Values,
  limiter: Limiter,
  seen: Changes<Change>,
  make: (options: Author & { readonly version: string }) => Promise<Changes<Change> | undefined>,
): Promise<Changes<Change> & { readonly made: boolean }> {
  assertVersion(values, seen.version)
  const isMade = values['yes'] === true && seen.changes.length > 0
  if (isMade) await assertShared(limiter)
  const made = isMade ? await make({ ...authorOf(values), version: seen.version }) : undefined
  const { version, changes } = made ?? seen
  return { version, changes, made: made !== undefined }
}

export const endOf = (name: string, isMade: boolean, version: string): string =>
  isMade
    ? CHANGED
    : `Nothing is changed. To change it: ${command(name, { yes: true, 'if-version': version || NONE })}`
