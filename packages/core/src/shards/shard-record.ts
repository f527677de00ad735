/* The record that each store keeps of the list of stores, and the question whether keys have moved to another. */
import type { LuaOperationKind } from '../lua/twins.ts'
import type { Operation, RecordValues } from '../stores/store.ts'
import { isFence, TYPE_OF, withMarkers } from './fence.ts'

/** The time for which new processes of the list before may still start, in milliseconds: a day. */
const ROLLOUT_MS = 86_400_000

/** Stands for the list before once all tenants have moved. */
export const ENDED = 'ended'

/** The lists of a process, as texts. */
export interface Lists {
  readonly shardBy: string
  readonly list: string
  /** The list whose tenants are moved, or `ENDED`. @default '', none */
  readonly before: string
}

interface ListClaim extends Lists {
  /** True to write the record if there is none. */
  readonly mayBegin: boolean
  readonly now: number
}

/** The record of a store beside this process' lists. While tenants move, `list` is the one that they come from. */
type ShardStanding = { readonly kind: 'same' } | { readonly kind: 'none' } | OtherStanding

/** The record of a store with another list. */
export interface OtherStanding {
  readonly kind: 'other' | 'moving'
  readonly list: string
}

/** Returns the operation that compares a store's list with this process', and writes it where it may. */
export const compareLists = (
  lists: Lists,
  mayBegin: boolean,
  now: number,
  startedAt: number,
): Operation<ShardStanding, ListClaim> => ({
  kind: JOIN,
  keys: [`shards:${lists.shardBy}`],
  data: { ...lists, mayBegin, now },
  startedAt,
})

/** A record has the list, the one before if its tenants may not have moved yet, and the time at which they began to. */
const JOIN: LuaOperationKind<ShardStanding, ListClaim> = {
  name: 'join shards',
  run(states, { keys: [key = ''], data: { list, before, mayBegin, now } }) {
    const record = (states.get(key, now) ?? new Map()) as RecordValues
    const { list: theirs, before: theirBefore = '', since } = Object.fromEntries(record)
    const write = (): ShardStanding => {
      const fields = { list, before: before === ENDED ? '' : before, since: String(now) }
      states.set(key, { state: new Map(Object.entries(fields)), expiresAt: Infinity })
      return { kind: 'same' }
    }
    const moving: ShardStanding = { kind: 'moving', list: theirBefore }
    if (theirs === undefined) return mayBegin ? write() : { kind: 'none' }
    if (theirs === list) {
      if (theirBefore === '' || theirBefore === before) return { kind: 'same' }
      return before === ENDED ? write() : moving
    }
    if (theirs === before) return theirBefore === '' ? write() : moving
    const isRollout = theirBefore === list && now - Number(since) < ROLLOUT_MS
    return isRollout ? { kind: 'same' } : { kind: 'other', list: theirs }
  },
  lua: {
    script: () => `local list, before, mayBegin, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local record = redis.call('HMGET', KEYS[1], 'list', 'before', 'since')
local theirs, theirBefore = record[1], record[2]
local function write()
  redis.call('HSET', KEYS[1], 'list', list, 'before', before == '${ENDED}' and '' or before, 'since', now)
  return 'same'
end
if not theirs then return mayBegin == '1' and write() or 'none' end
if theirs == list then
  if theirBefore == '' or theirBefore == before then return 'same' end
  return before == '${ENDED}' and write() or 'moving ' .. theirBefore
end
if theirs == before then return theirBefore == '' and write() or 'moving ' .. theirBefore end
if theirBefore == list and tonumber(now) - tonumber(record[3]) < ${ROLLOUT_MS} then return 'same' end
return 'other ' .. theirs
`,
    args: ({ list, before, mayBegin, now }) => [list, before, mayBegin ? '1' : '0', String(now)],
    parse(reply) {
      const [, kind, list] = /^(same$|none$|(?:other|moving)(?= )) ?(.*)/.exec(String(reply)) ?? []
      return kind === undefined ? undefined : { result: { kind, list } as ShardStanding }
    },
  },
}

/** Returns the operation that asks if one of these keys has moved to another store. */
export const hasMoved = (
  keys: readonly string[],
  startedAt: number,
): Operation<boolean, undefined> => ({
  kind: HAS_MOVED,
  keys: withMarkers(keys),
  near: keys,
  data: undefined,
  startedAt,
})

const HAS_MOVED: LuaOperationKind<boolean, undefined> = {
  name: 'has moved',
  run: (states, { keys }) => keys.some((key) => isFence(states.get(key, -Infinity))),
  lua: {
    script: () => `${TYPE_OF}for at = 1, #KEYS do
  if typeOf(KEYS[at]) == 'list' then return 1 end
end
return 0
`,
    args: () => [],
    parse: (reply) => (reply === 1 || reply === 0 ? { result: reply === 1 } : undefined),
  },
}
