/*
 * The Lua twin of `shares.ts`. In Redis, shares are one hash. Its field `#` has, between colons: the slot, the sums
 * of weights and guarantees, the room and the parts of the loans, the last full slot, the largest cost in this
 * window and in the one before, and the counts. Each member has a field: weight, guarantee, slot, counts.
 */
import { FOREIGN, type LuaFragments } from './algorithm.ts'
import {
  HEADROOM,
  MAX_HEADROOM,
  MAX_MEMBERS,
  MAX_NEWCOMERS,
  OTHERS,
  SLOT_MODULUS,
  SLOTS,
} from './share-division.ts'

/** The positions of the newest count in the field `#` and in that of a member, and the lengths of both. */
const [HEAD, MEMBER] = [9, 4]
const [HEAD_SIZE, MEMBER_SIZE] = [HEAD + SLOTS, MEMBER + SLOTS]

/** The functions of both scripts. `head` and `member` are lists of the numbers in their fields. */
const functions = (window: number): string => `
local function numbers(text, count)
  local found = {}
  for number in string.gmatch(text, '%-?%d+') do found[#found + 1] = tonumber(number) end
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
local function lendable(head, limit)
  local headroom = math.max(math.ceil(limit / ${HEADROOM}), head[7], head[8])
  return limit - math.min(headroom, math.floor(limit / ${MAX_HEADROOM}))
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
  return lent, 1
end
-- Divides the limit anew. Returns the member with this id, the others, the number of both, fields to remove, fields to write.
local function divide(head, slot, limit, id)
  local total, lent_before = in_use(head, ${HEAD}, head[1], slot, 1), lendable(head, limit)
  local part_room, part_parts = level_of(lent_before, head[2], head[3])
  local loan_room, loan_parts, windows = head[4], head[5], math.floor(slot / ${SLOTS}) - math.floor(head[1] / ${SLOTS})
  roll(head, ${HEAD}, head[1], slot)
  head[1], head[2], head[3] = slot, 0, 0
  if windows > 0 then head[7], head[8] = 0, windows == 1 and head[7] or 0 end
  local largest, lent = math.max(head[7], head[8]), lendable(head, limit)
  local was_full = head[6] >= slot - 1 or total > limit - largest
  local rows, using, gone, others, mine = redis.call('HGETALL', key), {}, {}, nil, nil
  for at = 1, #rows, 2 do
    if rows[at] ~= '#' then
      local list = numbers(rows[at + 1], ${MEMBER_SIZE})
      local used = used_by(list, slot, 1)
      if used == 0 then
        gone[#gone + 1] = rows[at]
      elseif rows[at] == '${OTHERS}' then
        others = list
      else
        using[#using + 1] = { id = rows[at], list = list, used = used }
      end
    end
  end
  local merged = #using + (others and 1 or 0) > ${MAX_MEMBERS}
  if merged then others = count_together(using, slot, others, gone) end
  local room, content = lent, {}
  local function likely(list, used)
    local at = list[3] - slot + 1
    local latest = at >= 0 and list[${MEMBER} + at] or 0
    return math.max(used, used_by(list, slot, 0) + 2 * latest)
  end
  if others then room = room - likely(others, used_by(others, slot, 1)) end
  for _, each in ipairs(using) do
    local list, used = each.list, each.used
    if each.id == id then mine = list end
    head[2], head[3] = head[2] + list[1], head[3] + list[2]
    local part = amount(part_room, part_parts, list[1], list[2])
    local most = math.max(part, amount(loan_room, loan_parts, list[1], list[2]))
    if not (was_full or used >= most or (total + largest > lent and used + largest > part)) then
      each.likely = likely(list, used)
      content[#content + 1] = each
    end
  end
  room = room - math.ceil(math.sqrt(#content)) * largest
  head[4], head[5] = loan_level(head[2], head[3], content, room, lent)
  return mine, others, #using + (others and 1 or 0), gone, merged
end
-- Reads the shares as divided in a slot.
local function read(slot, limit, id)
  local rows = redis.call('HMGET', key, '#', id, '${OTHERS}')
  local shares = { gone = {}, size = 0 }
  if not rows[1] then
    local head = zeros({ slot, 0, 0, 0, 1 }, ${HEAD_SIZE})
    head[4] = lendable(head, limit)
    shares.head = head
    return shares
  end
  local head = numbers(rows[1], ${HEAD_SIZE})
  shares.head = head
  if head[1] < slot then
    shares.mine, shares.others, shares.size, shares.gone, shares.merged = divide(head, slot, limit, id)
  else
    shares.mine = rows[2] and numbers(rows[2], ${MEMBER_SIZE})
    shares.others = rows[3] and numbers(rows[3], ${MEMBER_SIZE})
    shares.size = not shares.mine and redis.call('HLEN', key) - 1 or 0
  end
  return shares
end
local function write(shares, id, list)
  local head = shares.head
  if #shares.gone > 0 then redis.call('HDEL', key, unpack(shares.gone)) end
  if shares.merged then redis.call('HSET', key, '${OTHERS}', text(shares.others)) end
  redis.call('HSET', key, '#', text(head), id, text(list))
  redis.call('PEXPIRE', key, math.ceil((head[1] + ${2 * SLOTS + 1}) * ${window} / ${SLOTS}) - now + slack)
end
`

/** Returns the deciding Lua. The names of an asker's numbers are `member`, `weight` and `guarantee`. */
export const sharesLua = ([window = SLOTS]: readonly number[]): LuaFragments => ({
  keeps: ['charge_shares', 'position'],
  check: `${functions(window)}
local id = string.format('%.0f', member)
local shares = read(math.floor(now * ${SLOTS} / ${window}), limit, id)
local head, mine = shares.head, shares.mine
local slot, lent = head[1], lendable(head, limit)
local weights = head[2] + weight - (mine and mine[1] or 0)
local guarantees = head[3] + guarantee - (mine and mine[2] or 0)
local room, parts = level_of(lent, weights, guarantees)
local part = amount(room, parts, weight, guarantee)
local function available_in(later, left, most)
  local total, used = in_use(head, ${HEAD}, slot, slot + later, left), mine and used_by(mine, slot + later, left) or 0
  local own = used == 0 and limit or math.min(limit, total + math.floor(part) - used)
  return math.max(0, own - total, used < most and lent - total or 0)
end
local left = math.min(1, slot + 1 - now * ${SLOTS} / ${window})
available = available_in(0, left, math.max(part, amount(head[4], head[5], weight, guarantee)))
fits = cost == 0 or cost <= available
local oldest = 0
if mine then
  for age = slot - mine[3], ${SLOTS} do
    if mine[${MEMBER} + age - slot + mine[3]] > 0 then oldest = age end
  end
end
reset = math.ceil((slot + ${SLOTS + 1} - oldest) * ${window} / ${SLOTS}) - now
if not fits then
  local later = 0
  if cost <= limit then
    repeat later = later + 1 until available_in(later, 1, part) >= cost
  end
  retry = later == 0 and -1 or math.ceil((slot + later) * ${window} / ${SLOTS}) - now
end
$charge_shares = function(cost)
  local total = in_use(head, ${HEAD}, slot, slot, left)
  if mine or shares.size < ${MAX_MEMBERS + MAX_NEWCOMERS} then
    head[2], head[3] = weights, guarantees
    mine = mine or no_counts(slot)
    mine[1], mine[2] = weight, guarantee
  else
    id, mine = '${OTHERS}', shares.others or no_counts(slot)
  end
  head[7] = math.max(head[7], cost)
  if total + cost > limit - math.max(head[7], head[8]) then head[6] = slot end
  roll(mine, ${MEMBER}, mine[3], slot)
  mine[3] = slot
  mine[${MEMBER}], head[${HEAD}] = mine[${MEMBER}] + cost, head[${HEAD}] + cost
  write(shares, id, mine)
  return tonumber(id) * ${SLOT_MODULUS} + slot % ${SLOT_MODULUS}
end`,
  add: '$position = $charge_shares(cost)',
  position: '$position',
})

/** Returns the settling Lua. */
export const settlingShares = ([window = SLOTS]: readonly number[]): string => `${functions(window)}
local id, latest = string.format('%.0f', math.floor(position / ${SLOT_MODULUS})), math.floor(now * ${SLOTS} / ${window})
local function age_in(slot) return (slot - position) % ${SLOT_MODULUS} end
if actual > reserved then
  local shares = read(latest, limit, id)
  local head, list = shares.head, shares.mine
  local slot = head[1]
  if not list then id, list = '${OTHERS}', shares.others or no_counts(slot) end
  local at = age_in(slot)
  if at > ${SLOTS} then at = 0 end
  roll(list, ${MEMBER}, list[3], slot)
  list[3] = slot
  applied = actual - reserved
  list[${MEMBER} + at], head[${HEAD} + at] = list[${MEMBER} + at] + applied, head[${HEAD} + at] + applied
  write(shares, id, list)
else
  local rows = redis.call('HMGET', key, '#', id, '${OTHERS}')
  if rows[1] and (rows[2] or rows[3]) then
    local head, list = numbers(rows[1], ${HEAD_SIZE}), numbers(rows[2] or rows[3], ${MEMBER_SIZE})
    local age, at = age_in(list[3]), age_in(head[1])
    applied = math.max(actual - reserved, -(list[${MEMBER} + age] or 0))
    if at > ${SLOTS} then applied = 0 end
    if applied ~= 0 then
      list[${MEMBER} + age], head[${HEAD} + at] = list[${MEMBER} + age] + applied, head[${HEAD} + at] + applied
      redis.call('HSET', key, '#', text(head), rows[2] and id or '${OTHERS}', text(list))
      if age_in(math.max(head[1], latest)) > ${SLOTS} then applied = 0 end
    end
  end
end`
