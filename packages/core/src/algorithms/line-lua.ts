import { FOREIGN, type LuaFragments } from './algorithm.ts'

/** The most flows to remember. Past that, only those that wait are. */
export const MAX_FLOWS = 200

/** The numbers of a ticket, in the order in which Redis has them. */
const TICKET = ['id', 'flow', 'cost', 'turn', 'at', 'endsAt'] as const

export type TicketNumber = (typeof TICKET)[number]

const listOf = (form: (name: string) => string, separator = ', '): string =>
  TICKET.map((name) => form(name)).join(separator)

/**
 * Lua that reads and writes a line, which has the names of `Line`. The value is
 * `<last at>:<last endsAt>|<turn>|<flow>=<promised>,…|;<id>:<flow>:<cost>:<turn>:<at>:<endsAt>;…`. Its beginning is all that
 * a request without a ticket needs. `readLine` leaves out those that no longer wait.
 */
export const LINE_FUNCTIONS: string = `local function readLine(text)
  local line = { turn = 0, flows = {}, tickets = {} }
  if not text then return line end
  local turn, promises = string.match(text, '^%d+:%d+|(%d+)|([^|]*)|')
  if not turn then ${FOREIGN} end
  for ${listOf((name) => name)} in string.gmatch(text, ';${listOf(() => '(%d+)', ':')}') do
    if tonumber(endsAt) > now then
      line.tickets[#line.tickets + 1] = { ${listOf((name) => `${name} = tonumber(${name})`)} }
    end
  end
  if #line.tickets == 0 then return line end
  line.turn = tonumber(turn)
  for flow, promised in string.gmatch(promises, '(%d+)=(%d+)') do
    line.flows[#line.flows + 1] = { flow = tonumber(flow), promised = tonumber(promised) }
  end
  return line
end
local function writeLine(name, line)
  if #line.tickets == 0 then return redis.call('DEL', name) end
  local opens, last, waits, texts, kept = 0, 0, {}, {}, {}
  for _, ticket in ipairs(line.tickets) do
    opens, last = math.max(opens, ticket.at), math.max(last, ticket.endsAt)
    waits[ticket.flow] = true
    texts[#texts + 1] = string.format(';${listOf(() => '%.0f', ':')}', ${listOf((name) => `ticket.${name}`)})
  end
  for _, each in ipairs(line.flows) do
    if each.promised > line.turn then kept[#kept + 1] = each end
  end
  local all, promises = #kept <= ${MAX_FLOWS}, {}
  for _, each in ipairs(kept) do
    if all or waits[each.flow] then promises[#promises + 1] = string.format('%.0f=%.0f', each.flow, each.promised) end
  end
  local text = string.format('%.0f:%.0f|%.0f|', opens, last, line.turn) .. table.concat(promises, ',') .. '|' .. table.concat(texts)
  redis.call('SET', name, text, own and 'PXAT' or 'PX', string.format('%.0f', own and last or last - now + slack))
end
local function leaveLine(name, text, id, isServed)
  local line = readLine(text)
  for place = #line.tickets, 1, -1 do
    local mine = line.tickets[place]
    if mine.id == id then
      if isServed then line.turn = math.max(line.turn, mine.turn) end
      for _, each in ipairs(line.flows) do
        if not isServed and each.flow == mine.flow and each.promised == mine.turn + mine.cost then each.promised = mine.turn end
      end
      table.remove(line.tickets, place)
    end
  end
  writeLine(name, line)
end
`

/** The deciding Lua. The names of an asker's numbers are `ticket` and `flow`. */
export const lineLua: LuaFragments = {
  keeps: ['text', 'ticket'],
  check: `local text, waits, last, mine = redis.call('GET', key), false, 0, nil
if text then
  local at, endsAt = string.match(text, '^(%d+):(%d+)|%d+|')
  if not at then ${FOREIGN} end
  waits, last = tonumber(endsAt) > now, tonumber(at)
  local found = ticket > 0 and string.find(text, string.format(';%.0f:', ticket), 1, true)
  if found then
    at, endsAt = string.match(text, '^;%d+:%d+:%d+:%d+:(%d+):(%d+)', found)
    if tonumber(endsAt) > now then mine = tonumber(at) end
  end
end
local open = not waits or mine and mine <= now
fits, available, reset = cost == 0 or open, open and limit + cost or 0, math.max(0, last - now)
if not fits then retry = math.max(1, (mine or last) - now) end
$text, $ticket = open and mine and text, ticket`,
  add: `if $text then
  ${LINE_FUNCTIONS}
  leaveLine(key, $text, $ticket, true)
end`,
  position: '0',
}
