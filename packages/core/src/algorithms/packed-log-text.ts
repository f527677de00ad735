/*
 * The text of a packed log, and the Lua functions that read and change it.
 *
 * The value is `p<newest>:<span>:<total>:<units>:<added>:<sealed>:<span>:<units>;<blocks><entries>`: the time of
 * the newest entry, the milliseconds since the oldest, the units of all and of the newest; the entries added
 * since a block was completed; the length of the completed blocks, their time and their units. An entry is its
 * units unless they are 1, and the milliseconds to the next one. The newest is only in the head.
 *
 * A block of entries begins with its length, its time and its units, so that it can be skipped. So a decision
 * reads only the head, the expired entries and the first that has not expired.
 */
import { FOREIGN } from './algorithm.ts'

/**
 * Reads and writes numbers. One takes 1 to 4 characters from `#` to `}`, of which the first states how many
 * follow, or, above 1.6 million, `~`, its decimal digits and `;`. A gap is at least 1, so 0 announces units.
 */
const NUMBERS = `local function number(text, at)
  local a, b, c, d = string.byte(text, at, at + 3)
  if a < 91 then return a - 35, at + 1 end
  if a < 116 then return (a - 91) * 92 + b + 21, at + 2 end
  if a < 124 then return ((a - 116) * 92 + b - 35) * 92 + c + 2321, at + 3 end
  if a < 126 then return (((a - 124) * 92 + b - 35) * 92 + c - 35) * 92 + d + 70033, at + 4 end
  local digits, after = string.match(text, '^(%d+);()', at + 1)
  return tonumber(digits), after
end
local function digits(value)
  if value < 56 then return string.char(value + 35) end
  local low = value - 56
  if low < 2300 then return string.char(91 + math.floor(low / 92), 35 + low % 92) end
  low = low - 2300
  local middle, rest = 35 + math.floor(low / 92) % 92, 35 + low % 92
  if low < 67712 then return string.char(116 + math.floor(low / 8464), middle, rest) end
  low = low - 67712
  if low >= 1557376 then return string.format('~%.0f;', value) end
  middle, rest = 35 + math.floor(low / 92) % 92, 35 + low % 92
  return string.char(124 + math.floor(low / 778688), 35 + math.floor(low / 8464) % 92, middle, rest)
end
local function pack(units, gap)
  return units == 1 and digits(gap) or '#' .. digits(units) .. digits(gap)
end
local function entry(text, at)
  local units, gap = 1
  gap, at = number(text, at)
  if gap == 0 then
    units, at = number(text, at)
    gap, at = number(text, at)
  end
  return units, gap, at
end
`

/** An empty log. Its entries are `before`, `text` from `from` on, and `after`. */
export const NEW_LOG = `{
  text = '', from = 1, before = '', after = '', newest = 0, total = 0, units = 0, added = 0,
  sealed = 0, sealed_span = 0, sealed_units = 0,
}`

/**
 * Reads the log. `seek` finds the first entry after a time, at which also so many units have passed since the
 * oldest. It returns its time, the units before it, its place, and the end of its block with the time and
 * the units there, unless the block is not complete.
 */
export const OPEN: string = `local stored = redis.call('GET', key)
${NUMBERS}
local log = ${NEW_LOG}
if stored then
  local newest, span, total, units, added, sealed, sealed_span, sealed_units, from =
    string.match(stored, '^p(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+):(%d+);()')
  if not from then ${FOREIGN} end
  log.text, log.from, log.newest, log.first = stored, from, tonumber(newest), newest - span
  log.total, log.units, log.added = tonumber(total), tonumber(units), tonumber(added)
  log.sealed, log.sealed_span, log.sealed_units = tonumber(sealed), tonumber(sealed_span), tonumber(sealed_units)
end
local function head(place, at, passed)
  local text = log.text
  if place >= log.from + log.sealed then
    return place, #text + 1, log.newest - at, log.total - log.units - passed
  end
  local size, span, units
  size, place = number(text, place)
  span, place = number(text, place)
  units, place = number(text, place)
  return place, place + size, span, units
end
local function seek(cutoff, need)
  local text, at, passed, place = log.text, log.first, 0, log.from
  while place <= #text do
    local inside, ends, span, units = head(place, at, passed)
    local last, upto = at + span, passed + units
    if last > cutoff and upto >= need then
      local sealed = place < log.from + log.sealed
      place = inside
      while place < ends do
        local count, gap, after = entry(text, place)
        if at > cutoff and passed + count >= need then
          if sealed then return at, passed, place, ends, last, upto end
          return at, passed, place
        end
        at, passed, place = at + gap, passed + count, after
      end
    end
    at, passed, place = last, upto, ends
  end
  return log.newest, passed, place
end
`

/** Splits a log into its blocks, and makes a log of blocks. Needed only to change what is inside. */
export const BLOCKS: string = `local function split()
  local blocks, at, passed, place = {}, log.first, 0, log.from
  while place <= #log.text do
    local inside, ends, span, units = head(place, at, passed)
    local text = string.sub(log.text, inside, ends - 1)
    blocks[#blocks + 1] = { at = at, text = text, units = units, sealed = place < log.from + log.sealed }
    at, passed, place = at + span, passed + units, ends
  end
  return blocks
end
local function decode(block)
  local entries, at, place = {}, block.at, 1
  while place <= #block.text do
    local units, gap, after = entry(block.text, place)
    entries[#entries + 1] = { at = at, units = units }
    at, place = at + gap, after
  end
  return entries
end
local function encode(entries, next_at, sealed)
  local texts, units = {}, 0
  for index, entry in ipairs(entries) do
    local following = entries[index + 1]
    texts[index] = pack(entry.units, (following and following.at or next_at) - entry.at)
    units = units + entry.units
  end
  return { at = entries[1].at, text = table.concat(texts), units = units, sealed = sealed }
end
local function join(blocks)
  local texts, units, size, ends = {}, 0, 0, log.newest
  for index, block in ipairs(blocks) do
    local text = block.text
    if block.sealed then
      local following = blocks[index + 1]
      local span = (following and following.at or log.newest) - block.at
      text = digits(#text) .. digits(span) .. digits(block.units) .. text
      size, units = size + #text, units + block.units
    else
      ends = block.at
    end
    texts[index] = text
  end
  log.text, log.from, log.sealed = table.concat(texts), 1, size
  log.first = blocks[1] and blocks[1].at or log.newest
  log.sealed_span, log.sealed_units = ends - log.first, units
end
`
