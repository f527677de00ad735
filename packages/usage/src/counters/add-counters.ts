/* The operation that adds a batch of counters: its TypeScript and its Lua, side by side. */
import type { LuaOperation, LuaOperationKind, StateMap } from '@sluice/core'
import { formatValues, parseValues, type Counter, type CounterBatch } from './counter.ts'
import { Room } from './room.ts'

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
  run: (states, { data: { batch, now } }) => addInMemory(states, batch, now),
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
    for (const { name, claim, values, rank } of counters) {
      args.push(name, claim ? String(claim.at) : '', formatValues(stored(claim, values)))
      args.push(rank && (values[0] ?? 0) > 0 ? `${rank.by + 1} ${rank.size} ${rank.pool}` : '')
    }
  }
  return args
}

/** Returns the values as a hash holds them: those of a claim after the time until which it lasts. */
const stored = (claim: Counter['claim'], values: readonly number[]): readonly number[] =>
  claim ? [claim.until, ...values] : values

function addInMemory(states: StateMap, batch: CounterBatch, now: number): Added {
  if (states.get(batch.mark, now) !== undefined) return 'known'
  states.set(batch.mark, { state: true, expiresAt: now + MARK_MS })
  let hasOverflowed = false
  for (const { hashes, counters } of batch.groups) {
    const rejected = new Set<Counter>()
    for (const [index, { key, expiresAt }] of hashes.entries()) {
      const known = states.get(key, now) as Map<string, string> | undefined
      const hash = known ?? new Map<string, string>()
      const room = new Room(hash, counters)
      for (const counter of counters) {
        if (rejected.has(counter)) continue
        const hasRoom =
          hash.has(counter.name) || hash.size < batch.maxCounters || room.make(counter)
        const name = hasRoom ? counter.name : counter.name.slice(0, 1)
        hasOverflowed ||= name !== counter.name
        const sum = add(hash.get(name), counter, index === 0)
        if (sum) hash.set(name, formatValues(sum))
        else rejected.add(counter)
      }
      if (!known) states.set(key, { state: hash, expiresAt })
    }
  }
  return hasOverflowed ? 'overflowed' : 'added'
}

/** Returns the sum, or `undefined` if an earlier claim still lasts. */
function add(
  old: string | undefined,
  { claim, values }: Counter,
  decides: boolean,
): readonly number[] | undefined {
  const added = stored(claim, values)
  if (old === undefined) return added
  const before = parseValues(old)
  if (claim && decides && claim.at < (before[0] ?? 0)) return undefined
  return added.map((value, index) =>
    claim && index === 0 ? Math.max(value, before[0] ?? 0) : value + (before[index] ?? 0),
  )
}

/** The number of counters among which the smallest is looked for: a full hash has too many to look at all. */
const SAMPLE = 100

/**
 * Adds counters. ARGV: the time to keep the mark, the most counters in a hash; for each group the number of its
 * hashes and their TTLs, the number of its counters, and for each its name, the time of its claim or '', its values,
 * and its rank or ''.
 */
const SCRIPT = `if not redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) then return 0 end
local max, result, key, at = tonumber(ARGV[2]), 1, 2, 3
local function sum(old, new, claim)
  local before, total = {}, {}
  for number in string.gmatch(old or '', '[^,]+') do before[#before + 1] = tonumber(number) end
  for number in string.gmatch(new, '[^,]+') do
    local i = #total + 1
    local value = tonumber(number)
    if claim and i == 1 then value = math.max(value, before[i] or 0)
    else value = value + (before[i] or 0) end
    total[i] = string.format('%.0f', value)
  end
  return table.concat(total, ',')
end
local function candidatesIn(sample, inBatch, family, by, pool)
  local found = {}
  for f = 1, #sample, 2 do
    local name = sample[f]
    if #name > 1 and string.sub(name, 1, 1) == family and not inBatch[name]
        and string.find(name, pool, 1, true) then
      local i, size = 0, 0
      for number in string.gmatch(sample[f + 1], '[^,]+') do
        i = i + 1
        if i == by then size = tonumber(number) end
      end
      found[#found + 1] = { name = name, size = size, values = sample[f + 1] }
    end
  end
  table.sort(found, function(a, b) return a.size > b.size or (a.size == b.size and a.name > b.name) end)
  return found
end
while at <= #ARGV do
  local hashes = tonumber(ARGV[at])
  local count, first = tonumber(ARGV[at + hashes + 1]), at + hashes + 2
  local names, rejected, inBatch = {}, {}, {}
  for i = 1, count do
    names[i] = ARGV[first + 4 * i - 4]
    inBatch[names[i]] = true
  end
  for h = 1, hashes do
    local held = redis.call('HMGET', KEYS[key], unpack(names))
    local values, changed, removed, size, isNew = {}, {}, {}, nil, false
    local sample, candidates = nil, {}
    for i = 1, count do if held[i] then values[names[i]] = held[i] end end
    local function rest(family)
      if not values[family] then values[family] = redis.call('HGET', KEYS[key], family) or nil end
      if not values[family] then size = size + 1 end
      return values[family]
    end
    local function makeRoom(name, rank)
      local by, weight, pool = string.match(rank, '^(%S+) (%S+) (.*)$')
      by, weight = tonumber(by), tonumber(weight)
      local family = string.sub(name, 1, 1)
      local kind = family .. by .. pool
      if not candidates[kind] then
        sample = sample or redis.call('HRANDFIELD', KEYS[key], ${SAMPLE}, 'WITHVALUES')
        candidates[kind] = candidatesIn(sample, inBatch, family, by, pool)
      end
      local smallest = candidates[kind][#candidates[kind]]
      if not smallest or weight <= smallest.size then return false end
      table.remove(candidates[kind])
      values[family] = sum(rest(family), smallest.values, false)
      changed[family] = true
      removed[#removed + 1] = smallest.name
      size = size - 1
      return true
    end
    for i = 1, count do if not rejected[i] then
      local name, claim = names[i], ARGV[first + 4 * i - 3]
      local added, rank = ARGV[first + 4 * i - 2], ARGV[first + 4 * i - 1]
      if not values[name] then
        if not size then
          size = redis.call('HLEN', KEYS[key])
          isNew = size == 0
        end
        if size >= max and not (rank ~= '' and makeRoom(name, rank)) then
          name, result = string.sub(name, 1, 1), 2
          rest(name)
        else
          size = size + 1
        end
      end
      local old = values[name]
      if claim ~= '' and h == 1 and old and tonumber(claim) < tonumber(string.match(old, '^[^,]+')) then
        rejected[i] = true
      else
        values[name] = sum(old, added, claim ~= '')
        changed[name] = true
      end
    end end
    local fields = {}
    for name in pairs(changed) do
      fields[#fields + 1] = name
      fields[#fields + 1] = values[name]
    end
    if #removed > 0 then redis.call('HDEL', KEYS[key], unpack(removed)) end
    if #fields > 0 then
      redis.call('HSET', KEYS[key], unpack(fields))
      if isNew then redis.call('PEXPIRE', KEYS[key], ARGV[at + h]) end
    end
    key = key + 1
  end
  at = first + 4 * count
end
return result
`
