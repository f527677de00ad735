/** A mistake in a command, or something that it cannot do here. Its text says what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}
