import { userInfo } from 'node:os'
import type { Author } from '@sluice/core/configuration'
import { textOf, type Values } from './command.ts'

export const AUTHOR_USAGE = `  --by NAME             who makes it, for sluice log (default: your name on this machine)
  --note TEXT           why
  --yes                 make the change`

export function authorOf(values: Values): Author {
  const note = textOf(values, 'note')
  return { by: textOf(values, 'by') ?? nameHere(), ...(note !== undefined && { note }) }
}

function nameHere(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a user without a name.
    return 'unknown'
  }
}
