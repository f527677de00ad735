import { CommandError, type Reply } from '../engine.ts'

/** A status reply such as `OK`. Scripts receive it as `{ ok = … }`, not as a string. */
export class Status {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A reply inside the engine. Strings have one byte per character, so they are binary-safe. */
export type Value = string | Status | number | bigint | null | CommandError | readonly Value[]

export const OK: Status = new Status('OK')

/** Ends a command with an error reply. */
export class Fault extends Error {
  override readonly name = 'Fault'
}

export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value'
export const SYNTAX_ERROR = 'ERR syntax error'
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range'
export const NOT_A_FLOAT = 'ERR value is not a valid float'

/** Converts a value to the reply that callers of the engine receive. */
export function toReply(value: Value): Reply {
  if (typeof value === 'string') return Buffer.from(value, 'latin1')
  if (value instanceof Status) return Buffer.from(value.text, 'latin1')
  if (value instanceof CommandError) {
    return new CommandError(Buffer.from(value.message, 'latin1').toString())
  }
  if (value === null || typeof value !== 'object') return value
  return value.map(toReply)
}
