import { CommandError, type Arg, type Command, type Engine, type Reply } from '../engine.ts'
import {
  arityFits,
  catchFault,
  definitionOf,
  run,
  refusalOf,
  unknownCommand,
  wrongArity,
} from './dispatch.ts'
import { Keyspace, type Snapshot } from './keyspace.ts'
import { Interpreter, type ScriptBudget } from './lua/interpreter.ts'
import { SCRIPT_ARITIES, Scripts } from './scripts.ts'
import { toReply, type Value } from './value.ts'

const SCRIPT_BUDGET: ScriptBudget = { ms: 5_000 }

/** Options of `startEmbedded`. */
export interface EmbeddedOptions {
  /** The time that a script may take, by this machine's clock. @default 5 seconds */
  readonly budget?: ScriptBudget
  /** The time of the keys and of `TIME`, in epoch ms. @default the time of this machine */
  readonly now?: () => number
  /**
   * Returns the error of a command that must not run now, as in a Redis that is out of memory. Of a script's
   * commands it is asked up to the first write: after it Redis lets a script come to its end. @default none
   */
  readonly refuse?: (name: string, isWrite: boolean) => string | undefined
}

/** An engine whose whole state can be kept and put back. */
export interface EmbeddedEngine extends Engine {
  /** Copies all keys. Scripts are no part of it. */
  snapshot(): Snapshot
  /** Replaces all keys by those of a snapshot, which stays as it is. */
  restore(snapshot: Snapshot): void
}

/**
 * Starts a small Redis in this process: keys, strings, hashes, lists, sorted sets, and scripts on Lua 5.1.
 * All other commands get `ERR unknown command`.
 *
 * Each command and each script ends before the next begins. A script that exceeds its budget is
 * killed.
 */
export async function startEmbedded({
  budget = SCRIPT_BUDGET,
  now = Date.now,
  refuse,
}: EmbeddedOptions = {}): Promise<EmbeddedEngine> {
  const keyspace = new Keyspace(now, refuse)
  const interpreter = await Interpreter.create(budget)
  const scripts = new Scripts(keyspace, interpreter)
  const enqueue = serialQueue()

  const evaluate = async (name: string, args: string[]): Promise<Value> => {
    const refusal = refuseCommand(name, args)
    if (refusal) return refusal
    if (interpreter.isBroken) await interpreter.repair()
    keyspace.beginTick()
    const definition = definitionOf(name)
    if (definition) return refusalOf(name, definition, keyspace) ?? run(definition, keyspace, args)
    return catchFault(() => scripts.execute(name.toUpperCase(), args))
  }

  return {
    execute: (command) => enqueue(async () => toReply(await evaluate(...toBytes(command)))),
    async transaction(commands): Promise<readonly Reply[] | CommandError> {
      const encoded = commands.map(toBytes)
      const refusal = encoded.map(([name, args]) => refuseCommand(name, args)).find(Boolean)
      if (refusal) {
        return new CommandError(`EXECABORT Transaction discarded because of: ${refusal.message}`)
      }
      return enqueue(async () => {
        const replies: Reply[] = []
        for (const command of encoded) replies.push(toReply(await evaluate(...command)))
        return replies
      })
    },
    snapshot: () => keyspace.snapshot(),
    restore: (snapshot) => keyspace.restore(snapshot),
    async close() {
      keyspace.clear()
    },
  }
}

/** Creates a queue that runs one piece of work at a time, in the order of the calls. */
function serialQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

/** Returns the error for an unknown command or a wrong arity. A transaction checks this first. */
function refuseCommand(name: string, args: string[]): CommandError | undefined {
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
