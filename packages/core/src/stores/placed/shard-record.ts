/*
 * The list of stores, of which each keeps a record: a process that has another list finds out before its first decision,
 * instead of counting a tenant anew.
 */
import type { LuaOperationKind } from '../../lua/twins.ts'
import type { Operation, RecordValues, Store } from '../store.ts'
import { systemClock } from '../../clock.ts'
import { StoreError } from '../../errors.ts'
import { runInBackground } from '../../internal/background.ts'
import { sharesPromises } from '../../internal/runtime.ts'
import { isFence, TYPE_OF, withMarkers } from './fence.ts'

/** The time for which new processes of the list before may still start, in milliseconds: a day. */
const ROLLOUT_MS = 86_400_000

/** Says that all tenants have moved, instead of the list before. */
export const ENDED = 'ended'

/** The lists of a process, as texts. */
export interface Lists {
  readonly shardBy: string
  readonly list: string
  /** The list whose tenants are moved, or `ENDED`. @default '', none */
  readonly before: string
}

interface Claim extends Lists {
  /** True to write the record if there is none. */
  readonly mayBegin: boolean
  readonly now: number
}

/** The store has this list; or has none; or another; or this one, to which tenants move from that which follows. */
type Standing = 'same' | 'none' | `other ${string}` | `moving ${string}`

/** A record has the list, the one before if its tenants may not have moved yet, and the time at which they began to. */
const JOIN: LuaOperationKind<Standing, Claim> = {
  name: 'join shards',
  run(states, { keys: [key = ''], data: { list, before, mayBegin, now } }) {
    const record = (states.get(key, now) ?? new Map()) as RecordValues
    const { list: theirs, before: theirBefore = '', since } = Object.fromEntries(record)
    const write = (): Standing => {
      const fields = { list, before: before === ENDED ? '' : before, since: String(now) }
      states.set(key, { state: new Map(Object.entries(fields)), expiresAt: Infinity })
      return 'same'
    }
    if (theirs === undefined) return mayBegin ? write() : 'none'
    if (theirs === list) {
      if (theirBefore === '' || theirBefore === before) return 'same'
      return before === ENDED ? write() : `moving ${theirBefore}`
    }
    if (theirs === before) return theirBefore === '' ? write() : `moving ${theirBefore}`
    return theirBefore === list && now - Number(since) < ROLLOUT_MS ? 'same' : `other ${theirs}`
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
    parse: (reply) =>
      typeof reply === 'string' && /^(same$|none$|other |moving )/.test(reply)
        ? { result: reply as Standing }
        : undefined,
  },
}

/** A store, and whether it is known to have this process' list. */
interface Member {
  readonly name: string
  readonly store: Store
  hasJoined?: boolean
  /** The question of one request, for which others wait. */
  joining?: { readonly startedAt: number; readonly answer: Promise<void> } | undefined
}

/**
 * Returns a function that makes sure that a store has this process' list. It asks once; if the store has none, it asks
 * the others first.
 *
 * @throws StoreError `store_moved` When one has another list.
 */
export function joining(
  lists: Lists,
  members: readonly Member[],
): (member: Member, startedAt: number) => Promise<void> {
  const isEnded = lists.before === ENDED
  const own = lists.before === '' || isEnded ? lists.list : `${lists.list}, from ${lists.before}`

  /** Returns true if a store has this list, and false if it has none. */
  async function ask(
    { name, store }: Member,
    startedAt: number,
    mayBegin: boolean,
  ): Promise<boolean> {
    const standing = await store.run<Standing>({
      kind: JOIN,
      keys: [`shards:${lists.shardBy}`],
      data: { ...lists, mayBegin, now: systemClock() },
      startedAt,
    } satisfies Operation<Standing, Claim>)
    if (standing === 'same' || standing === 'none') return standing === 'same'
    const [what, ...words] = standing.split(' ')
    const theirs = words.join(' ')
    const message =
      what === 'other'
        ? `The databases in use are ${theirs}; this process has ${own}. Give it that list, or name it in from of sharded, to move tenants`
        : `Tenants move here from the databases ${theirs}; this process has ${own}. Name these in from of sharded; once all have moved, set from: 'ended'`
    throw Object.assign(new StoreError('store_moved', message), { place: name })
  }

  /** Asks the other stores. The first that has this list is enough: another may hang. */
  function askOthers(member: Member, startedAt: number): Promise<void> {
    const others = members.filter((other) => other !== member)
    let failure: StoreError | undefined
    let left = others.length
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        if (left > 0) return
        // If this list says what was before, that is where tenants come from, and each is asked then.
        if (failure === undefined || lists.before !== '') resolve()
        else reject(failure)
      }
      settle()
      for (const other of others) {
        ask(other, startedAt, false).then(
          (hasList) => {
            left -= 1
            if (hasList) resolve()
            else settle()
          },
          (error: StoreError) => {
            left -= 1
            failure ??= error
            if (error.code === 'store_moved') reject(error)
            else settle()
          },
        )
      }
    })
  }

  async function load(member: Member, startedAt: number): Promise<void> {
    if (await ask(member, startedAt, false)) {
      // Stores that count no longer are to know of the end, too.
      if (isEnded) runInBackground(askOthers(member, startedAt))
    } else {
      await askOthers(member, startedAt)
      await ask(member, startedAt, true)
    }
    member.hasJoined = true
  }

  return async (member, startedAt) => {
    if (member.hasJoined) return
    const asked = member.joining
    // Who waits for a younger request may wait beyond its own deadline.
    if (asked && asked.startedAt <= startedAt && sharesPromises()) return asked.answer
    const answer = load(member, startedAt).finally(() => (member.joining = undefined))
    member.joining = { startedAt, answer }
    await answer
  }
}

/** Returns the operation that tells whether one of these keys has moved to another store. */
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
