/* The least Redis commands that decisions take, as Upstash bills them. */
import type { Store } from '@sluice/core'

type Check = Store['check']
type Entries = Parameters<Check>[0]['entries']
type Verdicts = Awaited<ReturnType<Check>>['verdicts']

/** The call of the script, and the time that it asks for. */
const PER_DECISION = 2

/** A store, and the commands that the same decisions take in Redis. */
interface CountedStore {
  readonly store: Store
  /** Returns the commands so far: at least so many, because logs are tidied up now and then. */
  readonly commands: () => number
}

/** Wraps a store in memory. Each key is read, and written if it is charged; a waiting line only if somebody waits. */
export function countCommands(store: Store): CountedStore {
  let commands = 0
  const check: Check = async (request) => {
    const reply = await store.check(request)
    // Without an entry, it only reads settings.
    if (request.entries.length > 0) commands += commandsOf(request.entries, reply.verdicts)
    return reply
  }
  return { store: { ...store, check }, commands: () => commands }
}

function commandsOf(entries: Entries, verdicts: Verdicts): number {
  const isWritten = ({ policy }: Entries[number], index: number): boolean =>
    verdicts[index]?.charged === true && policy.follows === undefined
  if (entries.some(({ policy }) => policy.keyspace !== undefined)) {
    return PER_DECISION + keysOf(entries) + keysOf(entries.filter(isWritten))
  }
  let commands = PER_DECISION + entries.length
  for (let index = 0; index < entries.length; index += 1)
    if (isWritten(entries[index] as Entries[number], index)) commands += 1
  return commands
}

const keysOf = (entries: Entries): number => new Set(entries.map(({ key }) => key)).size
