/* The least Redis commands that decisions take, as Upstash bills them. */
import type { Decision, Store } from '@sluice/core'

type Entries = Parameters<Store['check']>[0]['entries']

/** The call of the script, and the time that it asks for. */
const PER_DECISION = 2

/** A store, and the commands that the same decisions take in Redis. */
interface CountedStore {
  readonly store: Store
  /** Notes a decision that the store has just made. */
  readonly add: (decision: Decision) => void
  /** Returns the commands so far: at least so many, because logs are tidied up now and then. */
  readonly commands: () => number
}

/** Wraps a store in memory. Each key is read, and written if it is charged; a waiting line only if somebody waits. */
export function countCommands(store: Store): CountedStore {
  let [commands, asked] = [0, [] as Entries]
  return {
    store: {
      ...store,
      check(request) {
        asked = request.entries
        return store.check(request)
      },
    },
    add({ policies }) {
      // Without an entry, nothing is counted.
      if (asked.length > 0) commands += commandsOf(asked, policies)
      asked = []
    },
    commands: () => commands,
  }
}

function commandsOf(entries: Entries, states: Decision['policies']): number {
  const isWritten = ({ policy }: Entries[number], index: number): boolean =>
    states[index]?.charged === true && policy.follows === undefined
  if (entries.some(({ policy }) => policy.keyspace !== undefined)) {
    return PER_DECISION + keysOf(entries) + keysOf(entries.filter(isWritten))
  }
  let commands = PER_DECISION + entries.length
  for (let index = 0; index < entries.length; index += 1)
    if (isWritten(entries[index] as Entries[number], index)) commands += 1
  return commands
}

const keysOf = (entries: Entries): number => new Set(entries.map(({ key }) => key)).size
