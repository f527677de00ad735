import type { LuaOperationKind, Records, StateMap } from '@sluice/core'

/** The counters of one hash, by name: their values as text. */
export type CounterValues = ReadonlyMap<string, string>

/** The number of fields after which a call reads no further hash. */
const FIELDS_PER_CALL = 5_000

/** The most hashes in one call. */
const HASHES_PER_CALL = 100

/**
 * Reads hashes of counters. A hash that does not exist is empty. Several small ones are read in one call.
 *
 * @throws StoreError When the store fails.
 */
export async function readCounters(
  records: Records,
  keys: readonly string[],
  now: number,
): Promise<CounterValues[]> {
  const found: CounterValues[] = []
  while (found.length < keys.length) {
    const next = keys.slice(found.length, found.length + HASHES_PER_CALL)
    const operation = { kind: READ, keys: next, data: now, startedAt: Date.now() }
    found.push(...(await records.run(operation)))
  }
  return found
}

/** Reads hashes from the first on, at least one. */
export const READ: LuaOperationKind<CounterValues[], number> = {
  name: 'usage.read',
  run: (states, { keys, data: now }) => keys.map((key) => readInMemory(states, key, now)),
  lua: { script: () => SCRIPT, args: () => [], parse },
}

const readInMemory = (states: StateMap, key: string, now: number): CounterValues =>
  new Map((states.get(key, now) as CounterValues | undefined) ?? [])

const SCRIPT = `local replies, fields = {}, 0
for i = 1, #KEYS do
  replies[i] = redis.call('HGETALL', KEYS[i])
  fields = fields + #replies[i] / 2
  if fields >= ${FIELDS_PER_CALL} then break end
end
return replies
`

const isHash = (reply: unknown): reply is string[] =>
  Array.isArray(reply) && reply.every((part) => typeof part === 'string')

function parse(reply: unknown): { result: CounterValues[] } | undefined {
  if (!Array.isArray(reply) || reply.length === 0 || !reply.every(isHash)) return undefined
  const result = reply.map((parts) => {
    const values = new Map<string, string>()
    for (let at = 0; at < parts.length; at += 2) values.set(parts[at] ?? '', parts[at + 1] ?? '')
    return values
  })
  return { result }
}
