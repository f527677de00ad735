import { at, reads, writes, type Definitions } from '../command.ts'
import { Fault, OK, Status, SYNTAX_ERROR } from '../value.ts'

export const serverCommands: Definitions = {
  PING: reads(-1, (_, args) => {
    if (args.length > 1) throw new Fault("ERR wrong number of arguments for 'ping' command")
    return args[0] ?? new Status('PONG')
  }),
  ECHO: reads(2, (_, args) => at(args, 0)),
  TIME: reads(1, (keyspace) => keyspace.microTime()),
  DBSIZE: reads(1, (keyspace) => keyspace.keys().length),
  FLUSHALL: writes(-1, flush),
  FLUSHDB: writes(-1, flush),
}

function flush(keyspace: Parameters<Definitions[string]['run']>[0], args: string[]): Status {
  if (args.length > 1 || (args.length === 1 && !/^(?:a?sync)$/i.test(at(args, 0)))) {
    throw new Fault(SYNTAX_ERROR)
  }
  keyspace.clear()
  return OK
}
