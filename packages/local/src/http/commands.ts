import { CommandError } from '../engine.ts'
import type { Command } from '../engine.ts'

/** Commands bound to a connection, that block it, or that run the server itself. */
const REFUSED = new Set(
  `AUTH HELLO QUIT RESET SELECT CLIENT READONLY READWRITE ASKING
  MULTI EXEC DISCARD WATCH UNWATCH
  SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE MONITOR
  BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF
  ACL BGREWRITEAOF BGSAVE CLUSTER CONFIG DEBUG FAILOVER LATENCY MIGRATE MODULE PSYNC REPLCONF
  REPLICAOF SAVE SHUTDOWN SLAVEOF SWAPDB SYNC`.split(/\s+/),
)

const BLOCKING_WITH_OPTION = new Set(['XREAD', 'XREADGROUP'])

/** The error for a command that makes no sense over HTTP; undefined for all others. */
export function refuse([name, ...args]: Command): CommandError | undefined {
  const upper = name.toUpperCase()
  const blocks =
    BLOCKING_WITH_OPTION.has(upper) && args.some((arg) => String(arg).toUpperCase() === 'BLOCK')
  if (!REFUSED.has(upper) && !blocks) return undefined
  return new CommandError(`ERR Command is not available: '${upper}' over the REST API`)
}
