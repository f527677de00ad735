import { CommandError, type Command } from '../engines/engine.ts'
import { REFUSED_COMMANDS } from '../engines/refused-commands.ts'

const BLOCKING_WITH_OPTION = new Set(['XREAD', 'XREADGROUP'])

/** Returns the error for a command that the REST API does not offer, and undefined for others. */
export function refuseCommand([name, ...args]: Command): CommandError | undefined {
  const upper = name.toUpperCase()
  const blocks =
    BLOCKING_WITH_OPTION.has(upper) && args.some((arg) => String(arg).toUpperCase() === 'BLOCK')
  if (!REFUSED_COMMANDS.has(upper) && !blocks) return undefined
  return new CommandError(`ERR Command is not available: '${upper}' over the REST API`)
}
