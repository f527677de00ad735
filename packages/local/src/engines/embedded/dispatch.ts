import { CommandError } from '../engine.ts'
import type { Definition, Definitions } from './command.ts'
import { hashCommands } from './commands/hashes.ts'
import { keyCommands } from './commands/keys.ts'
import { listCommands } from './commands/lists.ts'
import { serverCommands } from './commands/server.ts'
import { sortedSetRangeCommands } from './commands/sorted-set-ranges.ts'
import { sortedSetCommands } from './commands/sorted-sets.ts'
import { stringCommands } from './commands/strings.ts'
import type { Keyspace } from './keyspace.ts'
import { Fault, type Value } from './value.ts'

const DEFINITIONS: Definitions = {
  ...serverCommands,
  ...keyCommands,
  ...stringCommands,
  ...hashCommands,
  ...listCommands,
  ...sortedSetCommands,
  ...sortedSetRangeCommands,
}

/** Finds a command by its name in any case. */
export function definitionOf(name: string): Definition | undefined {
  const upper = name.toUpperCase()
  return Object.hasOwn(DEFINITIONS, upper) ? DEFINITIONS[upper] : undefined
}

/** Returns true if the arity allows `count` arguments without the name. */
export const arityFits = (arity: number, count: number): boolean =>
  arity < 0 ? count + 1 >= -arity : count + 1 === arity

/** Returns Redis's error for an unknown command, which quotes its first arguments. */
export function unknownCommand(name: string, args: readonly string[]): CommandError {
  let quoted = ''
  for (const arg of args) {
    if (quoted.length >= 128) break
    quoted += `'${arg.slice(0, 128 - quoted.length)}' `
  }
  const text = `ERR unknown command '${name.slice(0, 128)}', with args beginning with: ${quoted}`
  return new CommandError(text.replace(/[\r\n]/g, ' '))
}

export const wrongArity = (name: string): CommandError =>
  new CommandError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`)

/** Runs a command whose arity was checked. */
export const run = (definition: Definition, keyspace: Keyspace, args: string[]): Value =>
  catchFault(() => definition.run(keyspace, args))

export function refusalOf(
  name: string,
  { write }: Definition,
  { refuse }: Keyspace,
): CommandError | undefined {
  const refusal = refuse(name.toUpperCase(), write === true)
  return refusal === undefined ? undefined : new CommandError(refusal)
}

/** Runs `action` and returns a `Fault` as an error reply. */
export function catchFault(action: () => Value): Value {
  try {
    return action()
  } catch (error) {
    if (error instanceof Fault) return new CommandError(error.message)
    throw error
  }
}
