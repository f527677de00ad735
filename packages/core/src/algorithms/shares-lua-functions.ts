/*
 * The Lua of shares, which decides and settles, in the words of `share-state.ts`. In Redis, they are one hash. Its field `#`
 * has, between colons, `SHARES`, and then by slot the counts, weights and guarantees. Each member has a field: `MEMBER`, and
 * its counts.
 */
import { FOREIGN } from './algorithm.ts'
import { divide } from './shares-lua-divide.ts'
import { HEADROOM, MAX_HEADROOM, MAX_MEMBERS, MAX_NEWCOMERS, OTHERS, SLOTS } from './share-state.ts'

/** The numbers before the amounts, in the order in which Redis has them. */
const SHARES = ['slot', 'room', 'parts', 'fullSlot', 'largest', 'largestBefore']
const MEMBER = ['weight', 'guarantee', 'slot']

/** Lua that defines `<name>Of`, which reads a field or returns nil, and `<name>Text`, which writes it. */
function luaField(name: string, numbers: readonly string[], amounts: readonly string[]): string {
  const listOf = (form: (each: string) => string): string => numbers.map(form).join(', ')
  const lists = amounts.map(
    (each, at) => `${each} = ${at > 0 ? `amountsIn(list, ${at * (SLOTS + 1)})` : 'list'}`,
  )
  return `local function ${name}Of(text)
  local ${listOf((each) => each)}, rest = string.match(text, '^${'(%-?%d+):'.repeat(numbers.length)}(.*)$')
  local list, size = numbersIn(rest or '')
  if size ~= ${amounts.length * (SLOTS + 1)} then return nil end
  return { ${listOf((each) => `${each} = tonumber(${each})`)}, ${lists.join(', ')} }
end
local function ${name}Text(field)
  return string.format('${'%.0f:'.repeat(numbers.length)}', ${listOf((each) => `field.${each}`)}) .. ${amounts.map((each) => `amountsText(field.${each})`).join(' .. ')}
end
`
}

/** The functions of both scripts. */
export const functions = (window: number, least: number): string =>
  AMOUNTS + FIELDS + USE + lendable(least) + PARTS + divide + READ + charge(window)

/** Amounts by slot: lists from 0 on, by age. */
const AMOUNTS = `
local function noAmounts() return { [0] = 0${', 0'.repeat(SLOTS)} } end
local function numbersIn(text)
  local found, size = noAmounts(), 0
  for number in string.gmatch(text, '%-?%d+') do
    found[size] = tonumber(number)
    size = size + 1
  end
  return found, size
end
local function amountsIn(list, first)
  return { [0] = list[first], unpack(list, first + 1, first + ${SLOTS}) }
end
local function amountsText(amounts)
  return string.format('${'%.0f:'.repeat(SLOTS + 1)}', unpack(amounts, 0, ${SLOTS}))
end
`

const FIELDS =
  luaField('shares', SHARES, ['counts', 'weights', 'guarantees']) +
  luaField('member', MEMBER, ['counts'])

/** The units of shares, or of a member, that count in a slot. */
const USE = `local function rolled(amounts, slots)
  local found = noAmounts()
  for age = slots, ${SLOTS} do found[age] = amounts[age - slots] end
  return found
end
local noClaim = { weight = 0, guarantee = 0 }
local function noCounts(slot) return { weight = 0, guarantee = 0, slot = slot, counts = noAmounts() } end
local function inUse(counted, slot, left)
  local units, counts, passed = 0, counted.counts, slot - counted.slot
  for age = passed, ${SLOTS} do
    local count = counts[age - passed]
    units = units + (age < ${SLOTS} and count or math.floor(count * left))
  end
  return units
end
local function largestIn(shares, slot)
  local windows = math.floor(slot / ${SLOTS}) - math.floor(shares.slot / ${SLOTS})
  if windows == 0 then return math.max(shares.largest, shares.largestBefore) end
  return windows == 1 and shares.largest or 0
end
`

/** The part of the limit that may be lent. */
const lendable = (least: number): string => `local function lendable(shares, slot, limit)
  local headroom = math.max(math.ceil(limit / ${HEADROOM}), largestIn(shares, slot), ${least})
  return limit - math.min(headroom, math.floor(limit / ${MAX_HEADROOM}))
end
`

/** The level of parts or loans, as `room` for so many `parts`, and its amount for a claim. */
const PARTS = `local function sumOf(amounts, count)
  local sum = 0
  for age = 0, count - 1 do sum = sum + amounts[age] end
  return sum
end
local function levelOf(room, weights, guarantees)
  local beyond = room - guarantees
  if beyond < 0 and guarantees > 0 then return math.max(beyond, -guarantees), guarantees end
  return math.max(beyond, 0), weights
end
local function amount(room, parts, claim)
  if room < 0 then return claim.guarantee * (parts + room) / parts end
  return claim.guarantee + room * claim.weight / parts
end
local function partLevel(shares, slot, lent, asker, without)
  local left = ${SLOTS + 1} - (slot - shares.slot)
  return levelOf(lent, sumOf(shares.weights, left) + asker.weight - without.weight,
    sumOf(shares.guarantees, left) + asker.guarantee - without.guarantee)
end
`

const READ = `-- Reads what a decision of one member needs.
local function read(slot, limit, id)
  local head, mine, others = unpack(redis.call('HMGET', key, '#', id, '${OTHERS}'))
  local shares = head and (sharesOf(head) or ${FOREIGN}) or { slot = slot, parts = 0, fullSlot = 0, largest = 0,
    largestBefore = 0, counts = noAmounts(), weights = noAmounts(), guarantees = noAmounts() }
  shares.room = shares.room or lendable(shares, slot, limit)
  shares.mine = head and mine and (memberOf(mine) or ${FOREIGN})
  shares.others = head and others and (memberOf(others) or ${FOREIGN})
  shares.gone, shares.size = {}, 0
  return shares
end
`

const charge = (
  window: number,
): string => `-- Divides, unless that was done in this slot, and charges a member in the slot of this age. A new charge has "left".
local function charge(shares, slot, limit, id, age, units, claim, left)
  if shares.slot < slot then
    shares.mine = nil
    divide(shares, slot, limit, id)
  elseif not shares.mine then
    shares.size = redis.call('HLEN', key) - 1
  end
  slot = shares.slot
  if left then
    shares.largest = math.max(shares.largest, units)
    if inUse(shares, slot, left) + units > limit - largestIn(shares, slot) then shares.fullSlot = slot end
    if not shares.mine and shares.parts > 0 and shares.room >= 0 then
      shares.room, shares.parts = math.max(0, shares.room - claim.guarantee), shares.parts + claim.weight
    end
  end
  local weights, guarantees, member = shares.weights, shares.guarantees, shares.mine
  if member then
    local at = slot - member.slot
    claim = claim or member
    weights[at], guarantees[at] = weights[at] - member.weight, guarantees[at] - member.guarantee
  elseif not claim or shares.size >= ${MAX_MEMBERS + MAX_NEWCOMERS} then
    id, member, claim = '${OTHERS}', shares.others, noClaim
  end
  weights[0], guarantees[0] = weights[0] + claim.weight, guarantees[0] + claim.guarantee
  local counts = member and rolled(member.counts, slot - member.slot) or noAmounts()
  counts[age], shares.counts[age] = counts[age] + units, shares.counts[age] + units
  member = { weight = claim.weight, guarantee = claim.guarantee, slot = slot, counts = counts }
  if #shares.gone > 0 then redis.call('HDEL', key, unpack(shares.gone)) end
  if shares.merged then redis.call('HSET', key, '${OTHERS}', memberText(shares.others)) end
  redis.call('HSET', key, '#', sharesText(shares), id, memberText(member))
  redis.call('PEXPIRE', key, math.ceil((slot + ${2 * SLOTS + 1}) * ${window} / ${SLOTS}) - now + slack)
  return tonumber(id)
end
`
