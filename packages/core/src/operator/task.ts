/* How an operator changes keys and limits: shared by the command and by administration over HTTP. */
import type { ApiKey } from '../api-keys/record.ts'
import type { Author } from '../configuration/history.ts'
import type { Limiter } from '../limiter/limiter.ts'

/** The dimensions of a subject, by name. */
export type Dimensions = Readonly<Record<string, string>>

/** The names of what the reader of a text can do: in the words of a command line, or of a JSON body. */
export interface OperatorWords {
  /** Names an option: `--until 24h`. `true` is the value of a flag. */
  readonly option: (name: string, value?: string | true) => string
  /** Names a setting with its value: `limit=30`. */
  readonly pair: (name: string, value: string) => string
  /** Names a dimension of the subject: `--tenant acme`. */
  readonly dimension: (name: string, value: string) => string
  /** Says how to list the keys of a tenant. */
  readonly keysOf: (tenant: string) => string
  /** Says how to end a stop. */
  readonly startOf: (subject: Dimensions) => string
  /** The file that has the limits. */
  readonly file: string
}

/** One task of an operator. */
export interface OperatorTask {
  readonly limiter: Limiter
  /** Called before something is changed. Without it, the answer tells what would change. @default nothing is changed */
  readonly confirm?: (() => Promise<void>) | undefined
  readonly words: OperatorWords
  /** The name of the operator, and a reason, for `readHistory`. @default none */
  readonly author?: Author
  /** Returns false for a key that is to look as if there were none. @default every key may be managed */
  readonly mayManage?: (key: ApiKey) => boolean
}

/** The answer to a task, for people and for programs. */
export interface OperatorAnswer {
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** A task that cannot be done. Its text says what to do. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
  /** `invalid` for a mistake, `absent` for a key that does not exist, `conflict` if the state forbids it. */
  declare readonly kind: 'invalid' | 'absent' | 'conflict'

  constructor(message: string, kind: OperatorError['kind'] = 'invalid') {
    super(message)
    this.kind = kind
  }
}

/** Ends a task that cannot be done. @throws OperatorError */
export function refuse(text: string, kind?: OperatorError['kind']): never {
  throw new OperatorError(text, kind)
}

/** The sentence behind a change that was made. */
export const CHANGED = 'Changed. It applies in every isolate within 5 seconds.'

/** Returns the answer about a change, after it was made, or without it. */
export function changeAnswer(
  { words, confirm }: OperatorTask,
  lines: readonly string[],
  json: OperatorAnswer['json'],
): OperatorAnswer {
  const end = confirm
    ? CHANGED
    : `Nothing is changed. Add ${words.option('yes', true)} to change it.`
  return { text: [...lines, end].join('\n'), json: { ...json, made: confirm !== undefined } }
}
