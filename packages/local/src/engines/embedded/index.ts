import { CommandError } from '../../engine.ts'
import type { Arg, Command, Engine, Reply } from '../../engine.ts'
import { arityFits, definitionOf, guarded, run, unknownCommand, wrongArity } from './dispatch.ts'
import { Keyspace } from './keyspace.ts'
import { Interpreter } from './lua/interpreter.ts'
import { SCRIPT_ARITIES, Scripts } from './scripts.ts'
import { toReply } from './value.ts'
import type { Value } from './value.ts'

/**
 * A small Redis in this process: keys, strings, hashes, sorted sets, and scripts on a Lua 5.1.
 *
 * Every command and every script runs to its end before the next begins. All other commands are
 * answered with `ERR unknown command`.
 */
export async function startEmbedded(): Promise<Engine> {
  const keyspace = new Keyspace()
  const scripts = new Scripts(keyspace, await Interpreter.create())

  const evaluate = (name: string, args: string[]): Value => {
    const refused = refusal(name, args)
    if (refused) return refused
    keyspace.beginTick()
    const definition = definitionOf(name)
    if (definition) return run(definition, keyspace, args)
    return guarded(() => scripts.execute(name.toUpperCase(), args))
  }

  return {
    async execute(command) {
      return toReply(evaluate(...toBytes(command)))
    },
    async transaction(commands): Promise<readonly Reply[] | CommandError> {
      const prepared = commands.map(toBytes)
      const refused = prepared.map(([name, args]) => refusal(name, args)).find(Boolean)
      if (refused) {
        return new CommandError(`EXECABORT Transaction discarded because of: ${refused.message}`)
      }
      return prepared.map(([name, args]) => toReply(evaluate(name, args)))
    },
    async close() {
      keyspace.clear()
    },
  }
}

/** The error for a command that is not to be run at all, as a transaction must know beforehand. */
function refusal(name: string, args: string[]): CommandError | undefined {
  const upper = name.toUpperCase()
  const isScript = Object.hasOwn(SCRIPT_ARITIES, upper)
  const arity = isScript ? SCRIPT_ARITIES[upper] : definitionOf(name)?.arity
  if (arity === undefined) return unknownCommand(name, args)
  return arityFits(arity, args.length) ? undefined : wrongArity(name)
}

function toBytes([name, ...args]: Command): [name: string, args: string[]] {
  return [bytes(name), args.map(bytes)]
}

function bytes(arg: Arg): string {
  return (Buffer.isBuffer(arg) ? arg : Buffer.from(arg)).toString('latin1')
}
