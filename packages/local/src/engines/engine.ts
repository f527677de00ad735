/** One argument of a command. A buffer holds a request body, which may not be UTF-8. */
export type Arg = string | Buffer

/** A command's name and arguments, such as `['SET', 'key', 'value']`. */
export type Command = readonly [name: string, ...args: Arg[]]

/** An error reply of Redis. It is a value, because in a pipeline it is one reply among others. */
export class CommandError {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

/** A RESP2 reply: bulk and status strings are buffers, and integers keep all 64 bits. */
export type Reply = Buffer | number | bigint | null | CommandError | readonly Reply[]

/** Runs Redis commands. Calls made in one tick run in the order of the calls. */
export interface Engine {
  /** Runs one command. @throws EngineDownError when it is unknown whether the command ran. */
  execute(command: Command): Promise<Reply>
  /**
   * Runs all commands with no other command in between, or returns the `CommandError` that made
   * Redis discard them.
   *
   * @throws EngineDownError when it is unknown whether the commands ran.
   */
  transaction(commands: readonly Command[]): Promise<readonly Reply[] | CommandError>
  close(): Promise<void>
}

/** Thrown when the engine cannot be reached or a reply is lost: the command may have run. */
export class EngineDownError extends Error {
  override readonly name = 'EngineDownError'
}
