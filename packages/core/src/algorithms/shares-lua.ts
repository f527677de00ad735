/* The Lua twin of `shares.ts`. */
import { FOREIGN, type LuaFragments } from './algorithm.ts'
import { OTHERS, SLOT_MODULUS, SLOTS } from './share-state.ts'
import { functions } from './shares-lua-functions.ts'

/** Lua: the part of `slot` that is still to come. */
const leftOf = (window: number): string => `math.min(1, slot + 1 - now * ${SLOTS} / ${window})`

/** Returns the deciding Lua. The names of an asker's numbers are `member`, `weight` and `guarantee`. */
export const sharesLua = ([window = SLOTS, headroom = 0]: readonly number[]): LuaFragments => ({
  keeps: ['charge_shares', 'position'],
  check: `${functions(window, headroom)}
local id, latest = string.format('%.0f', member), math.floor(now * ${SLOTS} / ${window})
local shares, claim = read(latest, limit, id), { weight = weight, guarantee = guarantee }
local mine, slot = shares.mine, math.max(shares.slot, latest)
local function availableIn(later, left)
  local at = slot + later
  local total, used = inUse(shares, at, left), mine and inUse(mine, at, left) or 0
  local lent, known = lendable(shares, at, limit), mine and at - mine.slot <= ${SLOTS} and mine
  local room, parts = partLevel(shares, at, lent, claim, known or noClaim)
  local part = amount(room, parts, claim)
  local own = used == 0 and limit or math.min(limit, total + math.floor(part) - used)
  local mayBorrow = used < math.max(part, amount(shares.room, shares.parts, claim)) or at - shares.slot > 1
  return math.max(0, own - total, mayBorrow and lent - total or 0)
end
available = availableIn(0, ${leftOf(window)})
fits = cost == 0 or cost <= available
local oldest = 0
if mine then
  for age = slot - mine.slot, ${SLOTS} do
    if mine.counts[age - slot + mine.slot] > 0 then oldest = age end
  end
end
reset = math.ceil((slot + ${SLOTS + 1} - oldest) * ${window} / ${SLOTS}) - now
if not fits then
  local later = 0
  if cost <= limit then
    repeat later = later + 1 until availableIn(later, 1) >= cost
  end
  retry = later == 0 and -1 or math.ceil((slot + later) * ${window} / ${SLOTS}) - now
end
$charge_shares = function(cost)
  local charged = charge(shares, slot, limit, id, 0, cost, claim, ${leftOf(window)})
  return charged * ${SLOT_MODULUS} + slot % ${SLOT_MODULUS}
end`,
  add: '$position = $charge_shares(cost)',
  position: '$position',
})

/** Returns the settling Lua. */
export const settlingShares = ([
  window = SLOTS,
  headroom = 0,
]: readonly number[]): string => `${functions(window, headroom)}
local id, latest = string.format('%.0f', math.floor(position / ${SLOT_MODULUS})), math.floor(now * ${SLOTS} / ${window})
local function ageIn(slot) return (slot - position) % ${SLOT_MODULUS} end
if actual > reserved then
  local shares = read(latest, limit, id)
  local age = ageIn(math.max(shares.slot, latest))
  applied = actual - reserved
  charge(shares, latest, limit, id, age <= ${SLOTS} and age or 0, applied)
else
  local head, mine, others = unpack(redis.call('HMGET', key, '#', id, '${OTHERS}'))
  if head and (mine or others) then
    local shares, member = sharesOf(head) or ${FOREIGN}, memberOf(mine or others) or ${FOREIGN}
    local age, at = ageIn(member.slot), ageIn(shares.slot)
    applied = math.max(actual - reserved, -(member.counts[age] or 0))
    if at > ${SLOTS} then applied = 0 end
    if applied ~= 0 then
      member.counts[age], shares.counts[at] = member.counts[age] + applied, shares.counts[at] + applied
      redis.call('HSET', key, '#', sharesText(shares), mine and id or '${OTHERS}', memberText(member))
      if ageIn(math.max(shares.slot, latest)) > ${SLOTS} then applied = 0 end
    end
  end
end`
