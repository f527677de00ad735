/* The scripts of the operations on a line. */
import type { PolicyRule } from '../policies/policy.ts'
import { LINE_FUNCTIONS } from '../algorithms/line-lua.ts'
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
const NAMES = ['ticket', 'flow', 'units', 'most', 'turns', 'longest', 'limit', 'burst', 'window']

/** Lua in which what outlives a fragment is a variable of the script. */
const plain = (text: string): string => text.replace(/\$(?=\w)/g, 'kept_')

/**
 * Returns the script that stands in a line before limits of one algorithm, as `standInMemory` does. KEYS: the line, and
 * the limit. ARGV: the time, the clock; then `NAMES`, and the numbers of a calendar.
 */
export function standingScript({ algorithm, params, calendar }: PolicyRule): string {
  const { keeps = [], read = '', check } = algorithm.lua(params)
  const names = [...NAMES, ...(calendar?.times ?? [])]
  const values = names.map((_, at) => `tonumber(${argument(FIRST_ARG + at)})`)
  return `${CLOCK}local ${names.join(', ')} = ${values.join(', ')}
for at = ${FIRST_ARG}, #ARGV do
  local number = tonumber(ARGV[at])
  if not (number and ${isWhole('number')}) then error('bad argument') end
end
local lineKey, key, id = KEYS[1], KEYS[2], ''
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
local text = redis.call('GET', lineKey)
local line, place, mine, promise = readLine(text), nil, nil, nil
local tickets, flows, same, ahead, total = line.tickets, line.flows, 0, 0, units
for at, each in ipairs(tickets) do
  if each.id == ticket then place, mine = at, each end
  if each.flow == flow then same = same + 1 end
  total = total + each.cost
end
local isNew = not mine
if isNew then
  local free = most - #tickets
  if free <= 0 or turns == 1 and same >= math.max(1, free) then return { -1, 0 } end
  for _, each in ipairs(flows) do
    if each.flow == flow then promise = each end
  end
  local begin = math.max(line.turn, promise and promise.promised or 0)
  place = 1
  while tickets[place] and tickets[place].turn <= begin do place = place + 1 end
  mine = { id = ticket, flow = flow, cost = units, turn = begin }
end
for at = 1, place - 1 do ahead = ahead + tickets[at].cost end
local due = waitOf(ahead + units)
if place > 1 then due = math.max(due, tickets[place - 1].at - now) end
if due > longest then
  if not isNew then leaveLine(lineKey, text, ticket, false) end
  return { 0, 0 }
end
if isNew then
  -- Each of those behind moves back by one.
  local count = #tickets
  for at = place, count - 1 do tickets[at].at = math.max(tickets[at].at, tickets[at + 1].at) end
  if place <= count then tickets[count].at = math.max(tickets[count].at, now + waitOf(total)) end
  table.insert(tickets, place, mine)
  if promise then promise.promised = mine.turn + units else flows[#flows + 1] = { flow = flow, promised = mine.turn + units } end
end
local last = now + due
mine.at, mine.endsAt = last, last + ${GRACE_MS}
for at = place + 1, #tickets do
  local each = tickets[at]
  last = math.max(last, each.at)
  each.at, each.endsAt = last, math.max(each.endsAt, last + ${GRACE_MS})
end
writeLine(lineKey, line)
return { 1, due }
`
}
