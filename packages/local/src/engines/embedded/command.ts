import type { Keyspace } from './keyspace.ts'
import type { Value } from './value.ts'

/** How one command is run. */
export interface Definition {
  /** As Redis counts: the name included, negative for "at least". */
  arity: number
  /** Refused in read-only scripts. */
  write?: true
  run(keyspace: Keyspace, args: string[]): Value
}

/** Commands by their name in upper case. */
export type Definitions = Record<string, Definition>

/** An argument whose presence the arity check has made certain. */
export function at(args: readonly string[], index: number): string {
  return args[index] ?? ''
}

/** Splits `a 1 b 2` into pairs. */
export function pairs(args: readonly string[]): [string, string][] {
  const result: [string, string][] = []
  for (let index = 0; index + 1 < args.length; index += 2) {
    result.push([at(args, index), at(args, index + 1)])
  }
  return result
}
