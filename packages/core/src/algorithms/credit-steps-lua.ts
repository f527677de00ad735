/* Lua of the steps of an account, as `CreditAccount` and `CreditJournal` have them. */
import { ACCOUNT, ENTRY, HOLD, HOUR_MS, INCLUDED, MAX_ENTRIES, SUMS } from './credit-state.ts'

/** Lua that takes the name of a lot apart, and compares two lots. */
export const FACTS: string = `local function lotOf(name, left)
  local priority, effective, expires, kind = string.match(name, '^(%d+):(%d+):(%d+):(%a+)$')
  if not priority then error('bad argument') end
  return { name = name, left = left, priority = tonumber(priority), effective = tonumber(effective), expires = tonumber(expires), kind = kind }
end
local function inOrder(one, other)
  if one.priority ~= other.priority then return one.priority < other.priority end
  if one.expires ~= other.expires then
    return one.expires > 0 and (other.expires == 0 or one.expires < other.expires)
  end
  if one.kind ~= other.kind then return one.kind == 'promotional' end
  return one.effective < other.effective
end`

/**
 * Lua of the steps. Needs the sums `a`, the lists `lots` and `spent`, and what is to be written: `fields`, `gone`. It writes
 * in chunks, as Lua passes some thousand arguments at most.
 */
export const STEPS: string = `
local function hasExpired(lot, at) return lot.expires > 0 and lot.expires <= at end
local function isUsable(lot, at) return lot.effective <= at and not hasExpired(lot, at) end
local function unitsAt(at)
  local units = at < a.finish and a.included or 0
  for _, lot in ipairs(lots) do if isUsable(lot, at) then units = units + lot.left end end
  return units
end
local function indexOf(name)
  for index, lot in ipairs(lots) do if lot.name == name then return index end end
end
local function setLeft(index, left)
  lots[index].left = left
  if left == 0 then table.remove(lots, index) end
end
local flush
local function log(kind, units, lot, more, at)
  if units == 0 then return end
  if kind ~= 'spent' then flush() end
  a.entries, a.logged = a.entries + 1, a.logged + units
  fields[#fields + 1] = string.format('${ENTRY}%.0f', a.entries)
  fields[#fields + 1] = string.format('%.0f %.0f %s %.0f %s %.0f ', a.entries, at or now, kind, units, lot, a.logged) .. (more or '')
  if a.entries > ${MAX_ENTRIES} then gone[#gone + 1] = string.format('${ENTRY}%.0f', a.entries - ${MAX_ENTRIES}) end
end
account.log = log
flush = function()
  local summed = spent
  spent = {}
  for _, part in ipairs(summed) do log('spent', -part.units, part.lot, '', a.hour) end
end
local function draw(units)
  local parts, rest = {}, units
  local fromAllowance = now < a.finish and math.min(rest, a.included) or 0
  if fromAllowance > 0 then
    a.included, rest = a.included - fromAllowance, rest - fromAllowance
    table.insert(parts, { lot = string.format('${INCLUDED}:%.0f', a.finish), units = fromAllowance })
  end
  local index = 1
  while index <= #lots do
    local lot = lots[index]
    local left = lot.left
    local taken = isUsable(lot, now) and math.min(rest, left) or 0
    if taken > 0 then
      rest = rest - taken
      parts[#parts + 1] = { lot = lot.name, units = taken }
      setLeft(index, left - taken)
    end
    if taken < left or taken == 0 then index = index + 1 end
  end
  return parts
end
function account.available() return math.max(0, unitsAt(now) - a.debt) end
function account.payDebt()
  if a.debt == 0 then return end
  local debt = a.debt
  a.debt = 0
  local paid = math.min(debt, account.available())
  draw(paid)
  a.debt = debt - paid
end
function account.put(name, units)
  local index = indexOf(name)
  if index then
    lots[index].left = lots[index].left + units
  else
    lots[#lots + 1] = lotOf(name, units)
    table.sort(lots, inOrder)
  end
  account.payDebt()
end
function account.takeFrom(name, units)
  local index = indexOf(name)
  local taken = index and math.min(units, lots[index].left) or 0
  if taken > 0 then setLeft(index, lots[index].left - taken) end
  return taken
end
function account.owe(units)
  a.debt = a.debt + units
  account.payDebt()
end
function account.take(units)
  local parts = draw(math.min(units, account.available()))
  a.debt = a.debt + units
  for _, part in ipairs(parts) do a.debt = a.debt - part.units end
  return parts
end
local function spend(parts)
  local hour = now - now % ${HOUR_MS}
  if a.hour ~= hour then flush() end
  a.hour = hour
  for _, part in ipairs(parts) do
    local isKnown = part.units == 0
    for _, one in ipairs(spent) do
      if not isKnown and one.lot == part.lot then one.units, isKnown = one.units + part.units, true end
    end
    if not isKnown then spent[#spent + 1] = { lot = part.lot, units = part.units } end
  end
end
local function giveBack(parts)
  for index = #parts, 1, -1 do
    local part = parts[index]
    local lot, units = part.lot, part.units
    local paid = math.min(a.debt, units)
    a.debt = a.debt - paid
    local rest = units - paid
    if rest > 0 then
      local period = string.match(lot, '^${INCLUDED}:(%d+)$')
      if period and tonumber(period) == a.finish and now < a.finish then
        a.included = a.included + rest
      elseif not period and not hasExpired(lotOf(lot, 0), now) then
        account.put(lot, rest)
      else
        a.expired = a.expired + rest
        log('expired', -rest, lot)
      end
    end
  end
end
local function holdOf(text)
  local id, units, due, parts = string.match(text, '^(%S+) (%d+) (%d+) (.*)$')
  local hold = { id = id, units = tonumber(units), due = tonumber(due), parts = {} }
  for name, part in string.gmatch(parts, '([^,=]+)=(%d+)') do hold.parts[#hold.parts + 1] = { lot = name, units = tonumber(part) } end
  return hold
end
local function listOf(parts)
  local texts = {}
  for index, part in ipairs(parts) do texts[index] = string.format('%s=%.0f', part.lot, part.units) end
  return table.concat(texts, ',')
end
function account.charge(units, holdMs, id)
  local parts = draw(units)
  if holdMs == 0 then
    a.settled = a.settled + units
    spend(parts)
    return 0
  end
  a.holds, a.held = a.holds + 1, a.held + units
  local due = now + holdMs
  a.due = a.due > 0 and math.min(a.due, due) or due
  fields[#fields + 1] = string.format('${HOLD}%.0f', a.holds)
  fields[#fields + 1] = string.format('%s %.0f %.0f %s', id, units, due, listOf(parts))
  return a.holds
end
local released = {}
account.released = released
local function drop(name, hold)
  gone[#gone + 1], released[name] = name, true
  a.held = a.held - hold.units
end
function account.settle(position, actual, id)
  local name, used = string.format('${HOLD}%.0f', position), 0
  local text = not released[name] and redis.call('HGET', key, name)
  a.settled = a.settled + actual
  local hold = text and holdOf(text)
  if hold and hold.id == id then
    used = math.min(actual, hold.units)
    drop(name, hold)
    if a.held == 0 then a.due = 0 end
    local left, first, rest = used, {}, {}
    for index, part in ipairs(hold.parts) do
      local taken = math.min(left, part.units)
      left = left - taken
      first[index], rest[index] = { lot = part.lot, units = taken }, { lot = part.lot, units = part.units - taken }
    end
    spend(first)
    giveBack(rest)
  end
  local debtBefore = a.debt
  local parts = account.take(actual - used)
  log('debt', debtBefore - a.debt, '-')
  spend(parts)
end
local function inChunks(command, items)
  for from = 1, #items, 1000 do
    redis.call(command, key, unpack(items, from, math.min(from + 999, #items)))
  end
end
function account.save()
  local texts, all = {}, {}
  for index, name in ipairs({ ${SUMS.map((name) => `'${name}'`).join(', ')} }) do texts[index] = string.format('%.0f', a[name]) end
  for index, lot in ipairs(lots) do all[index] = { lot = lot.name, units = lot.left } end
  fields[#fields + 1] = '${ACCOUNT}'
  fields[#fields + 1] = table.concat(texts, ' ') .. '|' .. listOf(all) .. '|' .. listOf(spent)
  inChunks('HSET', fields)
  inChunks('HDEL', gone)
end
local function expire()
  local index = 1
  while index <= #lots do
    local lot = lots[index]
    if hasExpired(lot, now) then
      table.remove(lots, index)
      a.expired = a.expired + lot.left
      log('expired', -lot.left, lot.name)
    else
      index = index + 1
    end
  end
end
local function releaseDue()
  local rows, open = redis.call('HGETALL', key), {}
  for at = 1, #rows, 2 do
    local position = string.match(rows[at], '^${HOLD}(%d+)$')
    if position then open[#open + 1] = { position = tonumber(position), name = rows[at], hold = holdOf(rows[at + 1]) } end
  end
  table.sort(open, function(one, other) return one.position < other.position end)
  a.due = 0
  for _, row in ipairs(open) do
    local hold = row.hold
    if hold.due > now then
      a.due = a.due > 0 and math.min(a.due, hold.due) or hold.due
    else
      drop(row.name, hold)
      giveBack(hold.parts)
    end
  end
end`
