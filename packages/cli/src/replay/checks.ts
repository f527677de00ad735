import { ConfigError } from '@sluice/core'
import type { LogFacts } from '@sluice/replay'
import { CommandError, installed, refuse } from '../errors.ts'
import { operand, option } from '../wording.ts'

/** @throws CommandError When `@sluice/replay` is not installed. */
export const assertInstalled = (): Promise<unknown> =>
  installed('@sluice/replay @sluice/ai', () => import('@sluice/replay'))

/** Returns the error for an option of a log, with the option as it is written in a command. */
export function asLogError(error: unknown): unknown {
  if (!(error instanceof ConfigError) || !/^[a-zA-Z-]+$/.test(error.option)) return error
  const { option: path, reason } = error
  // The limits of a file, not an option.
  if (path === 'policies') return new CommandError(`the limits ${reason}`)
  const flag = path.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return new CommandError(`${path === 'log' ? operand(path) : option(flag)} ${reason}`)
}

/** Fails if most lines cannot be read: a report of the others would say little. */
export function assertReadable({ malformed: { count, first } }: LogFacts, calls: number): void {
  if (count <= calls) return
  const [{ line, reason } = { line: 0, reason: '' }] = first
  refuse(
    `${operand('log')} has ${counted(count, 'line')} that cannot be read, and ${counted(calls, 'call')}; line ${line}: ${reason}. See ${option('format')} and ${option('columns')}`,
  )
}

const counted = (value: number, name: string): string =>
  `${value.toLocaleString('en-US')} ${name}${value === 1 ? '' : 's'}`
