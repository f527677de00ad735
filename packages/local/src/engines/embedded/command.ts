import type { Keyspace } from './keyspace.ts'
import type { Value } from './value.ts'

/** The arity, kind and code of a command. */
export interface Definition {
  /** The number of arguments as Redis counts them: with the name, negative for "at least". */
  arity: number
  /** Read-only scripts may not send it. */
  write?: true
  run(keyspace: Keyspace, args: string[]): Value
}

/** Definitions of commands by their names in upper case. */
export type Definitions = Record<string, Definition>

type Run = Definition['run']

export const reads = (arity: number, run: Run): Definition => ({ arity, run })

export const writes = (arity: number, run: Run): Definition => ({ arity, write: true, run })

export const at = (args: readonly string[], index: number): string => args[index] ?? ''

/** Splits `a 1 b 2` into pairs. */
export function pairs(args: readonly string[]): [string, string][] {
  const result: [string, string][] = []
  for (let index = 0; index + 1 < args.length; index += 2) {
    result.push([at(args, index), at(args, index + 1)])
  }
  return result
}
