/*
 * The steps that take the values of some keys from one store to another: ask which keys have not arrived there; take them
 * from the old store, which leaves fences; let them arrive, once, under a marker. Each may be repeated.
 */
import type { LuaOperationKind } from '../lua/twins.ts'
import { StoreError } from '../errors.ts'
import { copyBehind, createFence, isFence, TYPE_OF, type Copy, type ValueCopy } from './fence.ts'

/** The life of a fence or a marker after that of the key's value, in milliseconds: two days. */
const FENCE_MS = 172_800_000

/** Items in one command of a script: Lua passes at most some thousand arguments. */
const CHUNK = 1_000

/** The life of the marker of a value that never expires, in milliseconds: 30 days. */
const LASTING_MS = 2_592_000_000

/** For each key, true if it is here, or has been. */
export const FIND_ARRIVED: LuaOperationKind<readonly boolean[], undefined> = {
  name: 'find arrived',
  run: (states, { keys }) =>
    pairsOf(keys).map(([key, marker]) => {
      const [state, mark] = [states.get(key, -Infinity), states.get(marker, -Infinity)]
      if (isFence(state) || isFence(mark)) return false
      return state !== undefined || mark !== undefined
    }),
  lua: {
    script: () => `${TYPE_OF}local reply = {}
for at = 1, #KEYS, 2 do
  local key, marker = KEYS[at], KEYS[at + 1]
  local kind, mark = typeOf(key), typeOf(marker)
  local hasGone = kind == 'list' or mark == 'list'
  reply[#reply + 1] = not hasGone and (kind ~= 'none' or mark ~= 'none') and 1 or 0
end
return reply
`,
    args: () => [],
    parse: (reply) =>
      Array.isArray(reply) && reply.every((one) => one === 0 || one === 1)
        ? { result: reply.map((one) => one === 1) }
        : undefined,
  },
}

/**
 * Takes the value of each key, and leaves a fence that keeps a copy, for a caller that did not get the reply. Of a record
 * it leaves the values, which processes of the old list go on reading, and the fence under the marker. The data is true for
 * each key of a record.
 */
export const DEPART: LuaOperationKind<readonly Copy[], readonly boolean[]> = {
  name: 'depart',
  run: (states, { keys, data: areRecords }) =>
    pairsOf(keys).map(([key, marker], at) => {
      const state = states.get(key, -Infinity)
      const known = copyBehind(state)
      const expiresAt = states.expiresAt?.(key) ?? Infinity
      const copy = known ?? { state, expiresAt: state === undefined ? 0 : expiresAt }
      const isKept = areRecords[at] === true && known === undefined && state !== undefined
      const fence = { state: createFence(copy), expiresAt: expiresAt + FENCE_MS }
      // It may come back one day.
      states.set(marker, isKept ? fence : { state: undefined, expiresAt: 0 })
      if (!isKept && !known) states.set(key, fence)
      return copy
    }),
  lua: {
    script: () => `${TYPE_OF}local lasting, reply = ${FENCE_MS}, {}
for at = 1, #KEYS, 2 do
  local key, marker = KEYS[at], KEYS[at + 1]
  local kind, mark = typeOf(key), typeOf(marker)
  local ttl, copy = redis.call('PTTL', key), nil
  redis.call('DEL', marker)
  if kind == 'list' then
    copy = redis.call('LRANGE', key, 0, -1)
    if ttl >= 0 then ttl = math.max(0, ttl - lasting) end
  else
    local held, fence = {}, key
    if kind == 'string' then held = { redis.call('GET', key) } end
    if kind == 'hash' then held = redis.call('HGETALL', key) end
    if kind == 'zset' then held = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
    if kind == 'none' then ttl = 0 end
    copy = { kind }
    for _, part in ipairs(held) do copy[#copy + 1] = part end
    if kind == 'hash' and ARGV[(at + 1) / 2] == '1' then fence = marker else redis.call('DEL', key) end
    for first = 1, #copy, ${CHUNK} do
      redis.call('RPUSH', fence, unpack(copy, first, math.min(first + ${CHUNK - 1}, #copy)))
    end
    if ttl >= 0 then redis.call('PEXPIRE', fence, ttl + lasting) end
  end
  reply[#reply + 1] = ttl
  reply[#reply + 1] = ttl == 0 and { 'none' } or copy
end
return reply
`,
    args: (areRecords) => areRecords.map((isRecord) => (isRecord ? '1' : '0')),
    parse: (reply) => {
      if (!Array.isArray(reply)) return undefined
      const copies = pairsOf(reply as unknown[]).map(([ttlMs, parts]) => ({ ttlMs, parts }))
      return copies.every(isValueCopy) ? { result: copies } : undefined
    },
  },
}

/** Puts copies under their keys, unless they have arrived before. */
export const ARRIVE: LuaOperationKind<void, readonly Copy[]> = {
  name: 'arrive',
  run(states, { keys, data: copies }) {
    for (const [at, [key, marker]] of pairsOf(keys).entries()) {
      const copy = copies[at] as Copy
      if ('ttlMs' in copy) throw otherKind()
      const { state, expiresAt } = copy
      const [here, mark] = [states.get(key, -Infinity), states.get(marker, -Infinity)]
      if (mark !== undefined && !isFence(mark)) continue
      states.set(marker, { state: new Map(), expiresAt: expiresAt + FENCE_MS })
      const isFree = here === undefined || isFence(here) || isFence(mark)
      if (isFree) states.set(key, { state, expiresAt })
    }
  },
  lua: {
    script: () => `${TYPE_OF}local lasting, at = ${FENCE_MS}, 1
for index = 1, #KEYS, 2 do
  local key, marker, ttl, last = KEYS[index], KEYS[index + 1], tonumber(ARGV[at]), at + 1 + tonumber(ARGV[at + 1])
  local copied, first = ARGV[at + 2], at + 3
  local kind, mark = typeOf(key), typeOf(marker)
  if mark ~= 'string' then
    redis.call('SET', marker, '', 'PX', ttl >= 0 and ttl + lasting or ${LASTING_MS})
    local isFree = kind == 'none' or kind == 'list' or mark == 'list'
    if isFree then redis.call('DEL', key) end
    if isFree and copied ~= 'none' then
      if copied == 'string' then redis.call('SET', key, ARGV[first]) end
      for part = first, last, ${CHUNK} do
        local items = { unpack(ARGV, part, math.min(part + ${CHUNK - 1}, last)) }
        if copied == 'hash' then redis.call('HSET', key, unpack(items)) end
        if copied == 'zset' then
          for n = 1, #items, 2 do items[n], items[n + 1] = items[n + 1], items[n] end
          redis.call('ZADD', key, unpack(items))
        end
      end
      if ttl >= 0 then redis.call('PEXPIRE', key, ttl) end
    end
  end
  at = last + 1
end
return 1
`,
    args: (copies) =>
      copies.flatMap((copy) => {
        if (!('ttlMs' in copy)) throw otherKind()
        return [String(copy.ttlMs), String(copy.parts.length), ...copy.parts]
      }),
    parse: (reply) => (reply === 1 ? { result: undefined } : undefined),
  },
}

/** Lets values expire that never would, once they have arrived elsewhere. */
export const FORGET: LuaOperationKind<void, undefined> = {
  name: 'forget moved',
  run: () => undefined,
  lua: {
    script: () => `for at = 1, #KEYS do redis.call('PEXPIRE', KEYS[at], ${FENCE_MS}) end
return 1
`,
    args: () => [],
    parse: (reply) => (reply === 1 ? { result: undefined } : undefined),
  },
}

const isValueCopy = (copy: { ttlMs: unknown; parts: unknown }): copy is ValueCopy =>
  Number.isInteger(copy.ttlMs) &&
  Array.isArray(copy.parts) &&
  copy.parts.length > 0 &&
  copy.parts.every((part) => typeof part === 'string')

const otherKind = (): StoreError =>
  new StoreError('store_refused', 'Tenants move only between stores of one kind')

/** Returns a flat list of pairs as pairs. */
const pairsOf = <T>(flat: readonly T[]): (readonly [T, T])[] =>
  flat.flatMap((item, at) => (at % 2 === 0 ? [[item, flat[at + 1] as T] as const] : []))
