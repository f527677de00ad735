/* The Lua twin of the packed log. */
import { fitWindow } from './algorithm.ts'
import { BLOCKS, NEW_LOG, OPEN } from './packed-log-text.ts'

/** After this many new entries, they become a block that can be skipped, and a coarse log is merged. */
export const BLOCK = 64

/** The functions that `add` needs of those that read a log. */
const LIBRARY = 'number, digits, pack, entry, head, seek'

/** Reads the log, once for all windows. */
export const LUA_READ: string = `${OPEN}
log.library = { ${LIBRARY} }
$log = log`

/** Counts the units in a window and, for a cost that does not fit, finds the entry whose expiry makes room. */
export const luaCheck = (
  window: number,
): string => `local log, cutoff, used = $log, now - ${window}, 0
local ${LIBRARY} = unpack(log.library)
local at, passed, freed_at
if log.total > 0 and log.newest > cutoff then
  at, passed = seek(cutoff, 0)
  used = log.total - passed
  if cost > 0 and cost <= limit and used + cost > limit then
    freed_at = seek(cutoff, passed + used + cost - limit)
  end
end${fitWindow('(at or now) - cutoff', '(freed_at or now) - cutoff')}`

/** Charges a cost. */
export const luaAdd = (longest: number, parts: number): string => `local log = $log
local ${LIBRARY} = unpack(log.library)
${luaAppend('cost', longest, parts)}
${luaWriteWithExpiry(longest)}
$log = log`

/** Corrects a charge where it was made, or charges now what was used beyond it. */
export const luaSettle = (longest: number, parts: number): string => `${OPEN}
${BLOCKS}
local more, expired, found = actual - reserved, position <= now - ${longest}, nil
if log.total > 0 and log.newest >= position then
  found = seek(position - 1, 0)
  if found ~= position${parts > 0 ? ' and found == log.first' : ''} then found = nil end
end
if found and not (more > 0 and expired) then
  local change = math.max(-log.units, more)
  if found == log.newest then
    log.total, log.units = log.total + change, log.units + change
  else
    local blocks = split()
    local index = #blocks
    while blocks[index].at > found do index = index - 1 end
    local block, following = blocks[index], blocks[index + 1]
    local entries, place = decode(block), 1
    while entries[place].at < found do place = place + 1 end
    change = math.max(-entries[place].units, more)
    log.total, entries[place].units = log.total + change, entries[place].units + change
    if entries[place].units == 0 then table.remove(entries, place) end
    if entries[1] then
      blocks[index] = encode(entries, following and following.at or log.newest, block.sealed)
    else
      table.remove(blocks, index)
    end
    join(blocks)
  end
  if log.total > 0 and log.units == 0 then
    -- The entry before the newest is the newest now.
    local blocks = split()
    local block = table.remove(blocks)
    local entries = decode(block)
    local newest = table.remove(entries)
    log.newest, log.units = newest.at, newest.units
    if entries[1] then blocks[#blocks + 1] = encode(entries, log.newest, block.sealed) end
    join(blocks)
  end
  if log.total > 0 then
    ${luaWrite(`'KEEPTTL'`)}
  else
    redis.call('DEL', key)
  end
  applied = expired and 0 or change
elseif more > 0 then
  ${luaAppend('more', longest, parts)}
  ${luaWriteWithExpiry(longest)}
  applied = more
end`

/** Adds units to `log`, at `now` or at the newest entry's time. Removes what has expired. */
const luaAppend = (
  units: string,
  longest: number,
  parts: number,
): string => `local at = math.max(now, log.newest)
if log.total == 0 or log.newest <= now - ${longest} then
  log = ${NEW_LOG}
  log.newest, log.first, log.total, log.units = at, at, ${units}, ${units}
else
  local first, passed, place, ends, last, upto = seek(now - ${longest}, 0)
  if ends then
    log.before = digits(ends - place) .. digits(last - first) .. digits(upto - passed)
    log.sealed = #log.before + log.from + log.sealed - place
    log.sealed_span, log.sealed_units = log.sealed_span - (first - log.first), log.sealed_units - passed
  else
    log.sealed, log.sealed_span, log.sealed_units = 0, 0, 0
  end
  log.from, log.first, log.total = place, first, log.total - passed + ${units}
  if at == log.newest then
    log.units = log.units + ${units}
  else
    log.after = pack(log.units, at - log.newest)
    log.newest, log.units, log.added = at, ${units}, log.added + 1
  end
  if log.added == ${BLOCK} then
    log.text = log.before .. string.sub(log.text, log.from) .. log.after
    log.from, log.before, log.after, log.added = 1, '', '', 0
    ${parts > 0 ? luaMerge(parts) : LUA_SEAL}
  end
end`

/** Merges entries as the TypeScript twin does, the newest first. */
const luaMerge = (parts: number): string => `${BLOCKS}
    local all, merged, newer, bucket = {}, {}, log.units, nil
    for _, block in ipairs(split()) do
      for _, entry in ipairs(decode(block)) do all[#all + 1] = entry end
    end
    for index = #all, 1, -1 do
      local entry = all[index]
      if bucket and (bucket.units + entry.units) * ${parts} <= newer then
        bucket.units = bucket.units + entry.units
      else
        newer = newer + (bucket and bucket.units or 0)
        bucket = entry
        merged[#merged + 1] = entry
      end
    end
    local blocks, chunk = {}, {}
    for index = #merged, 1, -1 do
      chunk[#chunk + 1] = merged[index]
      if #chunk == ${BLOCK} or index == 1 then
        blocks[#blocks + 1] = encode(chunk, index == 1 and log.newest or merged[index - 1].at, true)
        chunk = {}
      end
    end
    join(blocks)`

/** Makes the newest entries a block. */
const LUA_SEAL = `local units, span = log.total - log.units, log.newest - log.first
    local entries = string.sub(log.text, log.sealed + 1)
    log.text = string.sub(log.text, 1, log.sealed) .. digits(#entries) .. digits(span - log.sealed_span)
      .. digits(units - log.sealed_units) .. entries
    log.sealed, log.sealed_span, log.sealed_units = #log.text, span, units`

/** Writes the log. Its text is copied once only, because a log may be long. */
const luaWrite = (expiry: string): string => `redis.call('SET', key, string.format(
  'p%.0f:%.0f:%.0f:%.0f:%.0f:%.0f:%.0f:%.0f;', log.newest, log.newest - log.first, log.total, log.units,
  log.added, log.sealed, log.sealed_span, log.sealed_units
) .. log.before .. string.sub(log.text, log.from) .. log.after, ${expiry})`

const luaWriteWithExpiry = (longest: number): string => `local gone = log.newest + ${2 * longest}
${luaWrite(`own and 'PXAT' or 'PX', own and gone or gone - now + slack`)}`
