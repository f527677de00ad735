/* The Lua twin of `shares.ts`. */
import type { LuaFragments } from './algorithm.ts'
import { OTHERS, SLOT_MODULUS, SLOTS } from './share-state.ts'
import { functions, HEAD, HEAD_SIZE, MEMBER, MEMBER_SIZE } from './shares-lua-functions.ts'

/** Lua: the part of `slot` that is still to come. */
const leftOf = (window: number): string => `math.min(1, slot + 1 - now * ${SLOTS} / ${window})`

/** Returns the deciding Lua. The names of an asker's numbers are `member`, `weight` and `guarantee`. */
export const sharesLua = ([window = SLOTS, headroom = 0]: readonly number[]): LuaFragments => ({
  keeps: ['charge_shares', 'position'],
  check: `${functions(window, headroom)}
local id, latest = string.format('%.0f', member), math.floor(now * ${SLOTS} / ${window})
local shares = read(latest, limit, id)
local head, mine = shares.head, shares.mine
local slot = math.max(head[1], latest)
local function available_in(later, left)
  local at = slot + later
  local total, used = in_use(head, ${HEAD}, head[1], at, left), mine and used_by(mine, at, left) or 0
  local lent, known = lendable(head, at, limit), mine and at - mine[3] <= ${SLOTS}
  local room, parts = part_level(head, at, lent, weight - (known and mine[1] or 0), guarantee - (known and mine[2] or 0))
  local part = amount(room, parts, weight, guarantee)
  local own = used == 0 and limit or math.min(limit, total + math.floor(part) - used)
  local may_borrow = used < math.max(part, amount(head[2], head[3], weight, guarantee)) or at - head[1] > 1
  return math.max(0, own - total, may_borrow and lent - total or 0)
end
available = available_in(0, ${leftOf(window)})
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
    repeat later = later + 1 until available_in(later, 1) >= cost
  end
  retry = later == 0 and -1 or math.ceil((slot + later) * ${window} / ${SLOTS}) - now
end
$charge_shares = function(cost)
  local charged = charge(shares, slot, limit, id, 0, cost, weight, guarantee, ${leftOf(window)})
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
local function age_in(slot) return (slot - position) % ${SLOT_MODULUS} end
if actual > reserved then
  local shares = read(latest, limit, id)
  local age = age_in(math.max(shares.head[1], latest))
  applied = actual - reserved
  charge(shares, latest, limit, id, age <= ${SLOTS} and age or 0, applied)
else
  local rows = redis.call('HMGET', key, '#', id, '${OTHERS}')
  if rows[1] and (rows[2] or rows[3]) then
    local head, list = checked(rows[1], ${HEAD_SIZE}), checked(rows[2] or rows[3], ${MEMBER_SIZE})
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
