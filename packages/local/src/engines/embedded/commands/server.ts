import { at, type Definitions } from '../command.ts'
import { Fault, OK, Status, SYNTAX_ERROR } from '../value.ts'

export const serverCommands: Definitions = {
  PING: {
    arity: -1,
    run: (_, args) => {
      if (args.length > 1) throw new Fault("ERR wrong number of arguments for 'ping' command")
      return args[0] ?? new Status('PONG')
    },
  },
  ECHO: { arity: 2, run: (_, args) => at(args, 0) },
  TIME: { arity: 1, run: (keyspace) => keyspace.microTime() },
  DBSIZE: { arity: 1, run: (keyspace) => keyspace.keys().length },
  FLUSHALL: { arity: -1, write: true, run: flush },
  FLUSHDB: { arity: -1, write: true, run: flush },
}

function flush(keyspace: Parameters<Definitions[string]['run']>[0], args: string[]): Status {
  if (args.length > 1 || (args.length === 1 && !/^(?:a?sync)$/i.test(at(args, 0)))) {
    throw new Fault(SYNTAX_ERROR)
  }
  keyspace.clear()
  return OK
}
