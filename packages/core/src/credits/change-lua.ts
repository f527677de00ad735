/* The Lua twins of `change.ts`. Each defines what the next uses: the clock, the account, the answer. */
import { openLua } from '../algorithms/credit-account-lua.ts'
import { HOLD } from '../algorithms/credit-state.ts'
import { CLOCK } from '../lua/program.ts'
import { MAX_UNITS } from '../internal/validation.ts'
import { DAY_MS, GRANT_IDS_MS, MAX_GRANT_IDS, MAX_LOTS } from './bounds.ts'

/** Lua that opens the account of the first key. The last argument says whether reservations that are due are given back. */
const OPEN = `${CLOCK}local key = KEYS[1]
${openLua("ARGV[#ARGV] == '1'")}local a = account.sums
local function changed(outcome, units, owed)
  return { outcome, units or 0, owed or 0, account.available(), a.held, a.debt }
end
`

/** Lua that takes an id apart. */
const KNOWN = `local idsKey = KEYS[2]
local function knownOf(text)
  local at, sum, units, taken, owed, lot = string.match(text, '^(%d+) (%a+) (%-?%d+) (%-?%d+) (%d+) (%S+)$')
  return { at = tonumber(at), sum = sum, units = tonumber(units), taken = tonumber(taken), owed = tonumber(owed), lot = lot }
end
local function note(id, at, sum, units, taken, owed, lot)
  redis.call('HSET', idsKey, id, string.format('%.0f %s %.0f %.0f %.0f %s', at, sum, units, taken, owed, lot))
end
`

/** Lua that takes units as a refund does. */
const TAKE_BACK = `local function byRefund(one, other)
  if one.kind ~= other.kind then return one.kind == 'paid' end
  if one.expires ~= other.expires then
    return other.expires > 0 and (one.expires == 0 or one.expires > other.expires)
  end
  return inOrder(one, other)
end
local function takeBack(units)
  local all = {}
  for index, one in ipairs(account.lots) do all[index] = one end
  table.sort(all, byRefund)
  for _, one in ipairs(all) do units = units - account.takeFrom(one.name, units) end
  account.take(units)
end
`

/** KEYS: the account, its ids. ARGV: the time, the clock, the id, the units, their time, the sum, the lot, more, whether what is due is given back. */
export const GRANT_SCRIPT: string = `${OPEN}${KNOWN}${TAKE_BACK}
local id, units, at, sum, lot, more = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7], ARGV[8]
local text = redis.call('HGET', idsKey, id)
if text then
  local known = knownOf(text)
  if known.units == units and known.lot == lot and known.sum == sum then return changed('repeated', units) end
  return changed('grant_differs')
end
if at < now - ${GRANT_IDS_MS} then return changed('grant_too_old') end
local expires = tonumber(string.match(lot, '^%d+:%d+:(%d+):'))
if units > 0 and expires > 0 and expires <= now then return changed('grant_expired') end
local old = {}
if redis.call('HLEN', idsKey) >= ${MAX_GRANT_IDS} then
  local rows = redis.call('HGETALL', idsKey)
  for row = 1, #rows, 2 do
    if knownOf(rows[row + 1]).at < now - ${GRANT_IDS_MS} then old[#old + 1] = rows[row] end
  end
  if #rows / 2 - #old >= ${MAX_GRANT_IDS} then return changed('too_many_grants') end
end
local isNew, total = true, a.included
for _, one in ipairs(account.lots) do
  total = total + one.left
  if one.name == lot then isNew = false end
end
if units > 0 and isNew and #account.lots >= ${MAX_LOTS} then return changed('too_many_lots') end
if units > 0 and total + units > ${MAX_UNITS} then return changed('balance_too_large') end
a[sum] = a[sum] + units
account.log(sum, units, units > 0 and lot or '-', more)
if units > 0 then account.put(lot, units) else takeBack(-units) end
account.save()
for from = 1, #old, 1000 do redis.call('HDEL', idsKey, unpack(old, from, math.min(from + 999, #old))) end
note(id, at, sum, units, -1, 0, lot)
redis.call('PEXPIRE', idsKey, ${GRANT_IDS_MS + DAY_MS} + slack)
return changed('applied', units)
`

/** KEYS: the account, its ids. ARGV: the time, the clock, the id, whether the rest is a debt, more, whether what is due is given back. */
export const REVOKE_SCRIPT: string = `${OPEN}${KNOWN}
local id, owes, more = ARGV[3], ARGV[4] == '1', ARGV[5]
local text = redis.call('HGET', idsKey, id)
local known = text and knownOf(text)
if not known or known.sum ~= 'granted' then return changed('grant_unknown') end
local isFirst = known.taken < 0
local before = isFirst and 0 or known.taken + known.owed
local taken = isFirst and account.takeFrom(known.lot, known.units) or 0
local owed = owes and known.units - before - taken or 0
if not isFirst and owed == 0 then return changed('repeated', before, known.owed) end
a.revoked = a.revoked + taken + owed
account.log('revoked', -taken - owed, known.lot, more)
account.owe(owed)
account.save()
note(id, known.at, known.sum, known.units, isFirst and taken or known.taken, known.owed + owed, known.lot)
return changed('applied', taken + owed, owed)
`

/** KEYS: the account, the mark. ARGV: the time, the clock, the id, the units, whether what is due is given back. */
export const SETTLE_HOLD_SCRIPT: string = `${OPEN}
local id, units, position = ARGV[3], tonumber(ARGV[4]), nil
local rows = redis.call('HGETALL', key)
for row = 1, #rows, 2 do
  local at = not account.released[rows[row]] and tonumber(string.match(rows[row], '^${HOLD}(%d+)$'))
  if at and string.match(rows[row + 1], '^%S+') == id and (not position or at < position) then position = at end
end
if not position then return changed('hold_unknown') end
local before = a.held
account.settle(position, units, id)
account.save()
redis.call('DEL', KEYS[2])
return changed('applied', units, before - a.held)
`
