/** One argument of a command. Buffers carry request bodies that need not be UTF-8. */
export type Arg = string | Buffer

/** A command by its name and arguments, as in `['SET', 'key', 'value']`. */
export type Command = readonly [name: string, ...args: Arg[]]

/** An error Redis answered with. A value, because in a pipeline it is one reply among others. */
export class CommandError {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

/** A reply in RESP2 terms: bulk and status strings are buffers, integers keep all 64 bits. */
export type Reply = Buffer | number | bigint | null | CommandError | readonly Reply[]

/** What runs commands. Calls made in one tick run in that order. */
export interface Engine {
  /**
   * Runs one command.
   *
   * @throws EngineDownError when there is no telling whether the command ran.
   */
  execute(command: Command): Promise<Reply>
  /**
   * Runs all commands with nothing in between; a `CommandError` when they were discarded.
   *
   * @throws EngineDownError when there is no telling whether the commands ran.
   */
  transaction(commands: readonly Command[]): Promise<readonly Reply[] | CommandError>
  close(): Promise<void>
}

/** The engine cannot be reached, or the reply was lost: the command may have run. */
export class EngineDownError extends Error {
  override readonly name = 'EngineDownError'
}
