/* The scripts of the operations on a line. */
import type { PolicyRule } from '../policies/policy.ts'
import { AT, COST, FLOW, ID, LINE_FUNCTIONS, TURN, UNTIL } from '../algorithms/line-lua.ts'
import { argument } from '../lua/expressions.ts'
import { CLOCK, indent, isWhole } from '../lua/program.ts'

/** The time for which a ticket is kept for one that is late, in milliseconds. */
export const GRACE_MS = 3_000

/** Returns the script that leaves a line. KEYS: the line. ARGV: the time, the clock, the ticket. */
export const leavingScript = (): string => `${CLOCK}${LINE_FUNCTIONS}
local text = redis.call('GET', KEYS[1])
if text then leaveLine(KEYS[1], text, tonumber(ARGV[3]), false) end
return 1
`

const FIRST_ARG = 3
const NAMES = 'ticket, flow, units, most, turns, longest, limit, burst, window'

/** Lua in which what outlives a fragment is a variable of the script. */
const plain = (text: string): string => text.replace(/\$(?=\w)/g, 'kept_')

/**
 * Returns the script that stands in a line before limits of one algorithm, as `standInMemory` does. KEYS: the line, and
 * the limit. ARGV: the time, the clock; then `NAMES`.
 */
export function standingScript({ algorithm, params }: PolicyRule): string {
  const { keeps = [], read = '', check } = algorithm.lua(params)
  const values = NAMES.split(', ').map((_, at) => `tonumber(${argument(FIRST_ARG + at)})`)
  return `${CLOCK}local ${NAMES} = ${values.join(', ')}
for at = ${FIRST_ARG}, #ARGV do
  local number = tonumber(ARGV[at])
  if not (number and ${isWhole('number')}) then error('bad argument') end
end
local line, key, id = KEYS[1], KEYS[2], ''
${keeps.length > 0 ? `local ${keeps.map((name) => `kept_${name}`).join(', ')}` : ''}
do
  ${plain(indent(read))}
end
local function waitOf(total)
  local over = math.max(0, total - burst)
  local cost = total - over
  local fits, available, reset, retry, wait = false, 0, 0, 0, 0
  do
    ${plain(indent(check, 4))}
  end
  return (fits and 0 or retry) + math.ceil(over * window / limit)
end
${LINE_FUNCTIONS}
local text = redis.call('GET', line)
local turn, flows, tickets = readLine(text)
local place, mine, promise = nil, nil, nil
local same, ahead, total = 0, 0, units
for at, one in ipairs(tickets) do
  if one[${ID}] == ticket then place, mine = at, one end
  if one[${FLOW}] == flow then same = same + 1 end
  total = total + one[${COST}]
end
local isNew = not mine
if isNew then
  local free = most - #tickets
  if free <= 0 or turns == 1 and same >= math.max(1, free) then return { -1, 0 } end
  for _, known in ipairs(flows) do
    if known[1] == flow then promise = known end
  end
  local begin = math.max(turn, promise and promise[2] or 0)
  place = 1
  while tickets[place] and tickets[place][${TURN}] <= begin do place = place + 1 end
  mine = { ticket, flow, units, begin, 0, 0 }
end
for at = 1, place - 1 do ahead = ahead + tickets[at][${COST}] end
local due = waitOf(ahead + units)
if place > 1 then due = math.max(due, tickets[place - 1][${AT}] - now) end
if due > longest then
  if not isNew then leaveLine(line, text, ticket, false) end
  return { 0, 0 }
end
if isNew then
  -- Each of those behind moves back by one.
  local count = #tickets
  for at = place, count - 1 do tickets[at][${AT}] = math.max(tickets[at][${AT}], tickets[at + 1][${AT}]) end
  if place <= count then tickets[count][${AT}] = math.max(tickets[count][${AT}], now + waitOf(total)) end
  table.insert(tickets, place, mine)
  if promise then promise[2] = mine[${TURN}] + units else flows[#flows + 1] = { flow, mine[${TURN}] + units } end
end
mine[${AT}], mine[${UNTIL}] = now + due, now + due + ${GRACE_MS}
local last = mine[${AT}]
for at = place + 1, #tickets do
  local one = tickets[at]
  last = math.max(last, one[${AT}])
  one[${AT}], one[${UNTIL}] = last, math.max(one[${UNTIL}], last + ${GRACE_MS})
end
writeLine(line, turn, flows, tickets)
return { 1, due }
`
}
