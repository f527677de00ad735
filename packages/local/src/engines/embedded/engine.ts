import { CommandError } from '../engine.ts'
import type { Arg, Command, Engine, Reply } from '../engine.ts'
import { arityFits, definitionOf, guarded, run, unknownCommand, wrongArity } from './dispatch.ts'
import { Keyspace } from './keyspace.ts'
import { Interpreter } from './lua/interpreter.ts'
import type { ScriptBudget } from './lua/interpreter.ts'
import { SCRIPT_ARITIES, Scripts } from './scripts.ts'
import { toReply } from './value.ts'
import type { Value } from './value.ts'

const SCRIPT_BUDGET: ScriptBudget = { ms: 5_000 }

/**
 * A small Redis in this process: keys, strings, hashes, sorted sets, and scripts on a Lua 5.1.
 *
 * Every command and every script runs to its end before the next begins. All other commands are
 * answered with `ERR unknown command`. A script that runs for longer than its budget is killed.
 */
export async function startEmbedded(budget: ScriptBudget = SCRIPT_BUDGET): Promise<Engine> {
  const keyspace = new Keyspace()
  const interpreter = await Interpreter.create(budget)
  const scripts = new Scripts(keyspace, interpreter)
  const inTurn = queue()

  const evaluate = async (name: string, args: string[]): Promise<Value> => {
    const refused = refusal(name, args)
    if (refused) return refused
    if (interpreter.isBroken) await interpreter.repair()
    keyspace.beginTick()
    const definition = definitionOf(name)
    if (definition) return run(definition, keyspace, args)
    return guarded(() => scripts.execute(name.toUpperCase(), args))
  }

  return {
    execute: (command) => inTurn(async () => toReply(await evaluate(...toBytes(command)))),
    async transaction(commands): Promise<readonly Reply[] | CommandError> {
      const prepared = commands.map(toBytes)
      const refused = prepared.map(([name, args]) => refusal(name, args)).find(Boolean)
      if (refused) {
        return new CommandError(`EXECABORT Transaction discarded because of: ${refused.message}`)
      }
      return inTurn(async () => {
        const replies: Reply[] = []
        for (const command of prepared) replies.push(toReply(await evaluate(...command)))
        return replies
      })
    },
    async close() {
      keyspace.clear()
    },
  }
}

/** Runs what it is given one after the other, in the order of the calls. */
function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
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
