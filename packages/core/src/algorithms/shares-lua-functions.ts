/*
 * The Lua of shares, which decides and settles. In Redis, they are one hash. Its field `#` has, between colons: the slot, the room
 * and the parts of the loans, the last full slot, the largest cost in this window and in the one before; then by slot
 * the counts, weights and guarantees. Each member has a field: weight, guarantee, slot, counts.
 */
import { FOREIGN } from './algorithm.ts'
import { HEADROOM, MAX_HEADROOM, MAX_MEMBERS, MAX_NEWCOMERS, OTHERS, SLOTS } from './share-state.ts'

/** The positions in the field `#` of the newest count, weight and guarantee, and its length. */
export const HEAD = 7
const WEIGHTS = 18
const GUARANTEES = 29
export const HEAD_SIZE: number = GUARANTEES + SLOTS

/** The position of the newest count in the field of a member, and its length. */
export const MEMBER = 4
export const MEMBER_SIZE: number = MEMBER + SLOTS

/** The functions of both scripts. `head` and `member` are lists of the numbers in their fields. */
export const functions = (window: number, least: number): string => `
local function numbers(text)
  local found = {}
  for number in string.gmatch(text, '%-?%d+') do found[#found + 1] = tonumber(number) end
  return found
end
local function checked(text, count)
  local found = numbers(text)
  if #found ~= count then ${FOREIGN} end
  return found
end
local function text(list) return string.format(string.rep('%.0f:', #list), unpack(list)) end
local function zeros(list, size)
  for at = #list + 1, size do list[at] = 0 end
  return list
end
local function no_counts(slot) return zeros({ 0, 0, slot }, ${MEMBER_SIZE}) end
local function in_use(list, first, newest, slot, left)
  local units = 0
  for age = slot - newest, ${SLOTS} do
    local count = list[first + age - slot + newest]
    units = units + (age < ${SLOTS} and count or math.floor(count * left))
  end
  return units
end
local function used_by(member, slot, left) return in_use(member, ${MEMBER}, member[3], slot, left) end
local function roll(list, first, newest, slot)
  for age = ${SLOTS}, 0, -1 do
    local from = age + newest - slot
    list[first + age] = from >= 0 and list[first + from] or 0
  end
end
local function largest_in(head, slot)
  local windows = math.floor(slot / ${SLOTS}) - math.floor(head[1] / ${SLOTS})
  if windows == 0 then return math.max(head[5], head[6]) end
  return windows == 1 and head[5] or 0
end
local function lendable(head, slot, limit)
  local headroom = math.max(math.ceil(limit / ${HEADROOM}), largest_in(head, slot), ${least})
  return limit - math.min(headroom, math.floor(limit / ${MAX_HEADROOM}))
end
local function sum_of(head, first, count)
  local sum = 0
  for at = first, first + count - 1 do sum = sum + head[at] end
  return sum
end
local function level_of(room, weights, guarantees)
  local beyond = room - guarantees
  if beyond < 0 and guarantees > 0 then return math.max(beyond, -guarantees), guarantees end
  return math.max(beyond, 0), weights
end
local function amount(room, parts, weight, guarantee)
  if room < 0 then return guarantee * (parts + room) / parts end
  return guarantee + room * weight / parts
end
local function part_level(head, slot, lent, weight, guarantee)
  local left = ${SLOTS + 1} - (slot - head[1])
  return level_of(lent, sum_of(head, ${WEIGHTS}, left) + weight, sum_of(head, ${GUARANTEES}, left) + guarantee)
end
-- Counts together the members past the first ones.
local function count_together(using, slot, others, gone)
  table.sort(using, function(a, b)
    if a.used ~= b.used then return a.used > b.used end
    return tonumber(a.id) < tonumber(b.id)
  end)
  others = others or no_counts(slot)
  roll(others, ${MEMBER}, others[3], slot)
  others[3] = slot
  for at = #using, ${MAX_MEMBERS + 1}, -1 do
    local list = using[at].list
    roll(list, ${MEMBER}, list[3], slot)
    for place = ${MEMBER}, ${MEMBER_SIZE} do others[place] = others[place] + list[place] end
    gone[#gone + 1] = using[at].id
    using[at] = nil
  end
  return others
end
-- The level of the loans if those that are content get no more than what they are likely to ask for.
local function loan_level(weights, guarantees, content, room, lent)
  while weights > 0 do
    local to_share, parts = level_of(room, weights, guarantees)
    local above = {}
    for _, each in ipairs(content) do
      if each.likely >= amount(to_share, parts, each.list[1], each.list[2]) then
        above[#above + 1] = each
      else
        room, weights, guarantees = room - each.likely, weights - each.list[1], guarantees - each.list[2]
      end
    end
    if #above == #content then return to_share, parts end
    content = above
  end
  return lent, 0
end
-- Divides the limit anew. Returns the member with this id, the others, the number of both, fields to remove, fields to write.
local function divide(head, slot, limit, id)
  local total, largest = in_use(head, ${HEAD}, head[1], slot, 1), largest_in(head, slot)
  local part_room, part_parts = part_level(head, head[1], lendable(head, head[1], limit), 0, 0)
  local loan_room, loan_parts = head[2], head[3]
  local same = math.floor(slot / ${SLOTS}) == math.floor(head[1] / ${SLOTS})
  roll(head, ${HEAD}, head[1], slot)
  head[1], head[5], head[6] = slot, same and head[5] or 0, same and head[6] or largest
  for at = ${WEIGHTS}, ${HEAD_SIZE} do head[at] = 0 end
  local lent = lendable(head, slot, limit)
  local was_full = head[4] >= slot - 1 or total > limit - largest
  local was_held_down = head[4] >= slot - ${SLOTS + 1}
  local rows, using, gone, others, mine = redis.call('HGETALL', key), {}, {}, nil, nil
  for at = 1, #rows, 2 do
    if rows[at] ~= '#' then
      local list = numbers(rows[at + 1])
      if #list ~= ${MEMBER_SIZE} or slot - list[3] > ${SLOTS} then
        gone[#gone + 1] = rows[at]
      elseif rows[at] == '${OTHERS}' then
        others = list
      else
        using[#using + 1] = { id = rows[at], list = list, used = used_by(list, slot, 1) }
      end
    end
  end
  local merged = #using + (others and 1 or 0) > ${MAX_MEMBERS}
  if merged then others = count_together(using, slot, others, gone) end
  local room, content = lent, {}
  local function likely(list, used)
    local at, oldest = list[3] - slot + 1, -1
    local latest = at >= 0 and list[${MEMBER} + at] or 0
    for age = 0, ${SLOTS} - (slot - list[3]) do
      if list[${MEMBER} + age] > 0 then oldest = age end
    end
    local pace = (used - largest) * ${SLOTS} / math.max(1, oldest + slot - list[3])
    local held = was_held_down and latest * ${SLOTS} or 0
    return math.max(used, used_by(list, slot, 0) + 2 * latest, math.floor(pace), held)
  end
  if others then room = room - likely(others, used_by(others, slot, 1)) end
  for _, each in ipairs(using) do
    local list, used = each.list, each.used
    if each.id == id then mine = list end
    local age = slot - list[3]
    head[${WEIGHTS} + age] = head[${WEIGHTS} + age] + list[1]
    head[${GUARANTEES} + age] = head[${GUARANTEES} + age] + list[2]
    local part = amount(part_room, part_parts, list[1], list[2])
    local most = math.max(part, amount(loan_room, loan_parts, list[1], list[2]))
    if not (was_full or used >= most or (total + largest > lent and used + largest > part)) then
      each.likely = likely(list, used)
      content[#content + 1] = each
    end
  end
  room = room - math.ceil(math.sqrt(#content)) * largest
  local weights, guarantees = sum_of(head, ${WEIGHTS}, ${SLOTS + 1}), sum_of(head, ${GUARANTEES}, ${SLOTS + 1})
  head[2], head[3] = loan_level(weights, guarantees, content, room, lent)
  return mine, others, #using + (others and 1 or 0), gone, merged
end
-- Reads what a decision of one member needs.
local function read(slot, limit, id)
  local rows = redis.call('HMGET', key, '#', id, '${OTHERS}')
  local shares = { gone = {}, size = 0 }
  if rows[1] then
    shares.head = checked(rows[1], ${HEAD_SIZE})
    shares.mine = rows[2] and checked(rows[2], ${MEMBER_SIZE})
    shares.others = rows[3] and checked(rows[3], ${MEMBER_SIZE})
  else
    shares.head = zeros({ slot, 0, 0 }, ${HEAD_SIZE})
    shares.head[2] = lendable(shares.head, slot, limit)
  end
  return shares
end
-- Divides, unless that was done in this slot, and charges a member in the slot of this age. A new charge has "left".
local function charge(shares, slot, limit, id, age, units, weight, guarantee, left)
  local head = shares.head
  if head[1] < slot then
    shares.mine, shares.others, shares.size, shares.gone, shares.merged = divide(head, slot, limit, id)
  elseif not shares.mine then
    shares.size = redis.call('HLEN', key) - 1
  end
  if left then
    head[5] = math.max(head[5], units)
    local total = in_use(head, ${HEAD}, head[1], head[1], left) + units
    if total > limit - largest_in(head, head[1]) then head[4] = head[1] end
    if not shares.mine and head[3] > 0 and head[2] >= 0 then
      head[2], head[3] = math.max(0, head[2] - guarantee), head[3] + weight
    end
  end
  local list = shares.mine
  if not list and (not weight or shares.size >= ${MAX_MEMBERS + MAX_NEWCOMERS}) then
    id, list, weight, guarantee = '${OTHERS}', shares.others, 0, 0
  elseif list then
    weight, guarantee = weight or list[1], guarantee or list[2]
    local at = head[1] - list[3]
    head[${WEIGHTS} + at] = head[${WEIGHTS} + at] - list[1]
    head[${GUARANTEES} + at] = head[${GUARANTEES} + at] - list[2]
  end
  list = list or no_counts(head[1])
  head[${WEIGHTS}], head[${GUARANTEES}] = head[${WEIGHTS}] + weight, head[${GUARANTEES}] + guarantee
  roll(list, ${MEMBER}, list[3], head[1])
  list[1], list[2], list[3] = weight, guarantee, head[1]
  list[${MEMBER} + age], head[${HEAD} + age] = list[${MEMBER} + age] + units, head[${HEAD} + age] + units
  if #shares.gone > 0 then redis.call('HDEL', key, unpack(shares.gone)) end
  if shares.merged then redis.call('HSET', key, '${OTHERS}', text(shares.others)) end
  redis.call('HSET', key, '#', text(head), id, text(list))
  redis.call('PEXPIRE', key, math.ceil((head[1] + ${2 * SLOTS + 1}) * ${window} / ${SLOTS}) - now + slack)
  return tonumber(id)
end
`
