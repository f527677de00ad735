import type { LuaOperationKind, Records, StateMap } from '@sluice/core'

/** The number of counters after which a call looks through no further hash. */
const COUNTERS_PER_CALL = 5_000

/** The most hashes in one call. */
const HASHES_PER_CALL = 100

/**
 * Removes the counters of hashes whose names, after their family, begin with one of `starts`.
 *
 * @throws StoreError When the store fails. Counters that were removed before are gone: call it again.
 */
export async function removeCounters(
  records: Records,
  keys: readonly string[],
  starts: readonly string[],
  now: number,
): Promise<void> {
  let done = 0
  while (done < keys.length) {
    const next = keys.slice(done, done + HASHES_PER_CALL)
    const operation = { kind: REMOVE, keys: next, data: { starts, now }, startedAt: Date.now() }
    done += await records.run(operation)
  }
}

interface Removal {
  readonly starts: readonly string[]
  readonly now: number
}

/** Looks through hashes from the first on, at least one, and returns how many. */
export const REMOVE: LuaOperationKind<number, Removal> = {
  name: 'usage.remove',
  run(states, { keys, data: { starts, now } }) {
    for (const key of keys) removeInMemory(states, key, starts, now)
    return keys.length
  },
  lua: {
    script: () => SCRIPT,
    args: ({ starts }) => starts,
    parse: (reply) => (typeof reply === 'number' && reply > 0 ? { result: reply } : undefined),
  },
}

function removeInMemory(
  states: StateMap,
  key: string,
  starts: readonly string[],
  now: number,
): void {
  const hash = states.get(key, now) as Map<string, string> | undefined
  for (const name of hash?.keys() ?? []) {
    if (starts.some((start) => name.startsWith(start, 1))) hash?.delete(name)
  }
  states.changed?.(key)
}

/** A command takes a bounded number of arguments, so names are removed by the thousand. */
const SCRIPT = `local seen = 0
for i = 1, #KEYS do
  local fields, names = redis.call('HGETALL', KEYS[i]), {}
  for f = 1, #fields, 2 do
    for s = 1, #ARGV do
      if string.sub(fields[f], 2, #ARGV[s] + 1) == ARGV[s] then
        names[#names + 1] = fields[f]
        break
      end
    end
  end
  for first = 1, #names, 1000 do
    redis.call('HDEL', KEYS[i], unpack(names, first, math.min(first + 999, #names)))
  end
  seen = seen + #fields / 2
  if seen >= ${COUNTERS_PER_CALL} then return i end
end
return #KEYS
`
