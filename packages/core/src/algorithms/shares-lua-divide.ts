/* The Lua that divides a limit anew, once a slot: the level of the parts and of the loans, and the members to keep. */
import { MAX_MEMBERS, OTHERS, SLOTS } from './share-state.ts'

/** Uses the other functions of `shares-lua-functions.ts`. */
export const divide: string = `-- Counts together the members past the first ones.
local function countTogether(using, slot, others, gone)
  table.sort(using, function(a, b)
    if a.used ~= b.used then return a.used > b.used end
    return tonumber(a.id) < tonumber(b.id)
  end)
  others = others or noCounts(slot)
  others.counts, others.slot = rolled(others.counts, slot - others.slot), slot
  for at = #using, ${MAX_MEMBERS + 1}, -1 do
    local member = using[at].member
    local counts = rolled(member.counts, slot - member.slot)
    for age = 0, ${SLOTS} do others.counts[age] = others.counts[age] + counts[age] end
    gone[#gone + 1] = using[at].id
    using[at] = nil
  end
  return others
end
-- The level of the loans if those that are content get no more than what they are likely to ask for.
local function loanLevel(weights, guarantees, content, room, lent)
  while weights > 0 do
    local levelRoom, parts = levelOf(room, weights, guarantees)
    local above = {}
    for _, each in ipairs(content) do
      if each.likely >= amount(levelRoom, parts, each.member) then
        above[#above + 1] = each
      else
        room, weights, guarantees = room - each.likely, weights - each.member.weight, guarantees - each.member.guarantee
      end
    end
    if #above == #content then return levelRoom, parts end
    content = above
  end
  return lent, 0
end
-- Divides the limit anew. Sets the member with this id, the others, the number of both, and the fields to remove.
local function divide(shares, slot, limit, id)
  local total, largest = inUse(shares, slot, 1), largestIn(shares, slot)
  local partRoom, partParts = partLevel(shares, shares.slot, lendable(shares, shares.slot, limit), noClaim, noClaim)
  local lent = lendable(shares, slot, limit)
  local wasFull = shares.fullSlot >= slot - 1 or total > limit - largest
  local wasHeldDown = shares.fullSlot >= slot - ${SLOTS + 1}
  if math.floor(slot / ${SLOTS}) ~= math.floor(shares.slot / ${SLOTS}) then
    shares.largest, shares.largestBefore = 0, largest
  end
  shares.counts, shares.slot = rolled(shares.counts, slot - shares.slot), slot
  shares.weights, shares.guarantees = noAmounts(), noAmounts()
  local rows, using, gone, others = redis.call('HGETALL', key), {}, {}, nil
  for at = 1, #rows, 2 do
    if rows[at] ~= '#' then
      local member = memberOf(rows[at + 1])
      if not member or slot - member.slot > ${SLOTS} then
        gone[#gone + 1] = rows[at]
      elseif rows[at] == '${OTHERS}' then
        others = member
      else
        using[#using + 1] = { id = rows[at], member = member, used = inUse(member, slot, 1) }
      end
    end
  end
  shares.merged = #using + (others and 1 or 0) > ${MAX_MEMBERS}
  if shares.merged then others = countTogether(using, slot, others, gone) end
  local room, content = lent, {}
  local function likelyUse(member, used)
    local latest, oldest = member.counts[member.slot - slot + 1] or 0, -1
    for age = 0, ${SLOTS} - (slot - member.slot) do
      if member.counts[age] > 0 then oldest = age end
    end
    local pace = (used - largest) * ${SLOTS} / math.max(1, oldest + slot - member.slot)
    local held = wasHeldDown and latest * ${SLOTS} or 0
    return math.max(used, inUse(member, slot, 0) + 2 * latest, math.floor(pace), held)
  end
  if others then room = room - likelyUse(others, inUse(others, slot, 1)) end
  for _, each in ipairs(using) do
    local member, used = each.member, each.used
    if each.id == id then shares.mine = member end
    local age = slot - member.slot
    shares.weights[age] = shares.weights[age] + member.weight
    shares.guarantees[age] = shares.guarantees[age] + member.guarantee
    local part = amount(partRoom, partParts, member)
    local most = math.max(part, amount(shares.room, shares.parts, member))
    if not (wasFull or used >= most or (total + largest > lent and used + largest > part)) then
      each.likely = likelyUse(member, used)
      content[#content + 1] = each
    end
  end
  room = room - math.ceil(math.sqrt(#content)) * largest
  local weights, guarantees = sumOf(shares.weights, ${SLOTS + 1}), sumOf(shares.guarantees, ${SLOTS + 1})
  shares.room, shares.parts = loanLevel(weights, guarantees, content, room, lent)
  shares.others, shares.size, shares.gone = others, #using + (others and 1 or 0), gone
end
`
