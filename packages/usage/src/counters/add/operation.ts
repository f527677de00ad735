/* The operation that adds a batch of counters. Its run in memory and its script are twins, with the same names. */
import type { LuaOperation, LuaOperationKind } from '@sluice/core'
import { formatValues, storedValues, type CounterBatch } from '../counter.ts'
import { addInMemory } from './memory.ts'
import { SCRIPT } from './script.ts'

/** The result of adding a batch: done, done with some in their family's rest, or done before. */
export type Added = 'added' | 'overflowed' | 'known'

const RESULTS: readonly Added[] = ['known', 'added', 'overflowed']

/** The time after the first attempt for which a batch can be sent again, and counts once, in milliseconds. */
export const RESEND_MS = 540_000

/** The time for which a mark is kept, in milliseconds. An attempt may be under way for a minute. */
const MARK_MS = RESEND_MS + 60_000

/**
 * Creates the operation that adds a batch of counters, once. On Redis it takes an EVALSHA, a SET for the mark,
 * and for each hash an HMGET and an HSET; an HLEN more if a counter is new, and a PEXPIRE if the hash is. If the hash
 * is full, a HGET for each family that is not in the batch; an HRANDFIELD if counters have ranks, and an HDEL if some
 * have given way.
 */
export function addCounters(
  all: CounterBatch,
  now: number,
  startedAt: number,
): LuaOperation<Added, Additions> {
  const batch = withoutExpired(all, now)
  const hashes = batch.groups.flatMap((group) => group.hashes)
  const keys = [batch.mark, ...hashes.map(({ key }) => key)]
  return { kind: ADD, keys, data: { batch, now }, startedAt }
}

interface Additions {
  readonly batch: CounterBatch
  readonly now: number
}

export const ADD: LuaOperationKind<Added, Additions> = {
  name: 'usage.add',
  run(states, { data: { batch, now } }) {
    if (states.get(batch.mark, now) !== undefined) return 'known'
    states.set(batch.mark, { state: true, expiresAt: now + MARK_MS })
    return addInMemory(states, batch, now) ? 'overflowed' : 'added'
  },
  lua: {
    script: () => SCRIPT,
    args: ({ batch, now }) => scriptArgs(batch, now),
    parse: (reply) => {
      const result = RESULTS[reply as number]
      return result && { result }
    },
  },
}

/** Returns the batch without the hashes that have expired: a late count must not bring one back. */
function withoutExpired(batch: CounterBatch, now: number): CounterBatch {
  const groups = batch.groups.map(({ hashes, counters }) => ({
    hashes: hashes.filter(({ expiresAt }) => expiresAt > now),
    counters,
  }))
  return { ...batch, groups: groups.filter(({ hashes }) => hashes.length > 0) }
}

function scriptArgs({ maxCounters, groups }: CounterBatch, now: number): string[] {
  const args = [String(MARK_MS), String(maxCounters)]
  for (const { hashes, counters } of groups) {
    args.push(String(hashes.length), ...hashes.map(({ expiresAt }) => String(expiresAt - now)))
    args.push(String(counters.length))
    for (const counter of counters) {
      const { name, claim, values, rank } = counter
      args.push(name, claim ? String(claim.at) : '', formatValues(storedValues(counter)))
      if (rank && (values[0] ?? 0) > 0) args.push(`${rank.by + 1}`, `${rank.size}`, rank.pool)
      else args.push('', '', '')
    }
  }
  return args
}
