import { userInfo } from 'node:os'
import type { Author } from '@sluice/core/configuration'
import { attempt } from '@sluice/core/internal/limiter'
import { textOf, type Values } from './command.ts'

export const AUTHOR_USAGE = `  --by NAME             who makes it, for sluice log (default: your name on this machine)
  --note TEXT           why
  --yes                 make the change`

export function authorOf(values: Values): Author {
  const note = textOf(values, 'note')
  // A container may run as a user without a name.
  const by = textOf(values, 'by') ?? attempt(() => userInfo().username, 'unknown')
  return { by, ...(note !== undefined && { note }) }
}
