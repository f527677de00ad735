import { FOREIGN, type LuaFragments } from './algorithm.ts'

/** The most flows to remember. Past that, only those that wait are. */
export const MAX_FLOWS = 200

// The places of the numbers in a ticket.
export const ID = 1
export const FLOW = 2
export const COST = 3
export const TURN = 4
export const AT = 5
export const UNTIL = 6

/**
 * Lua that reads and writes a line. The value is
 * `<last at>:<last until>|<turn>|<flow>=<promised>,…|;<id>:<flow>:<cost>:<turn>:<at>:<until>;…`. Its beginning is all that
 * a request without a ticket needs.
 *
 * `readLine` returns the turn, a list of flows, and a list of those that still wait, each a list of its numbers.
 */
export const LINE_FUNCTIONS: string = `local function readLine(text)
  local turn, flows, tickets = 0, {}, {}
  if not text then return turn, flows, tickets end
  local head, promises = string.match(text, '^%d+:%d+|(%d+)|([^|]*)|')
  if not head then ${FOREIGN} end
  for ticket in string.gmatch(text, ';[%d:]+') do
    local numbers = {}
    for number in string.gmatch(ticket, '%d+') do numbers[#numbers + 1] = tonumber(number) end
    if numbers[${UNTIL}] > now then tickets[#tickets + 1] = numbers end
  end
  if #tickets == 0 then return turn, flows, tickets end
  for flow, promised in string.gmatch(promises, '(%d+)=(%d+)') do
    flows[#flows + 1] = { tonumber(flow), tonumber(promised) }
  end
  return tonumber(head), flows, tickets
end
local function writeLine(name, turn, flows, tickets)
  if #tickets == 0 then return redis.call('DEL', name) end
  local opens, last, waits, texts, kept = 0, 0, {}, {}, {}
  for _, ticket in ipairs(tickets) do
    opens, last = math.max(opens, ticket[${AT}]), math.max(last, ticket[${UNTIL}])
    waits[ticket[${FLOW}]] = true
    texts[#texts + 1] = string.format(';%.0f:%.0f:%.0f:%.0f:%.0f:%.0f', unpack(ticket))
  end
  for _, flow in ipairs(flows) do
    if flow[2] > turn then kept[#kept + 1] = flow end
  end
  local all, promises = #kept <= ${MAX_FLOWS}, {}
  for _, flow in ipairs(kept) do
    if all or waits[flow[1]] then promises[#promises + 1] = string.format('%.0f=%.0f', flow[1], flow[2]) end
  end
  local text = string.format('%.0f:%.0f|%.0f|', opens, last, turn) .. table.concat(promises, ',') .. '|' .. table.concat(texts)
  redis.call('SET', name, text, own and 'PXAT' or 'PX', string.format('%.0f', own and last or last - now + slack))
end
local function leaveLine(name, text, ticket, isServed)
  local turn, flows, tickets = readLine(text)
  for at = #tickets, 1, -1 do
    local mine = tickets[at]
    if mine[${ID}] == ticket then
      if isServed then turn = math.max(turn, mine[${TURN}]) end
      for _, flow in ipairs(flows) do
        if not isServed and flow[1] == mine[${FLOW}] and flow[2] == mine[${TURN}] + mine[${COST}] then flow[2] = mine[${TURN}] end
      end
      table.remove(tickets, at)
    end
  end
  writeLine(name, turn, flows, tickets)
end
`

/** The deciding Lua. The names of an asker's numbers are `ticket` and `flow`. */
export const lineLua: LuaFragments = {
  keeps: ['text', 'ticket'],
  check: `local text, waits, last, mine = redis.call('GET', key), false, 0, nil
if text then
  local at, till = string.match(text, '^(%d+):(%d+)|%d+|')
  if not at then ${FOREIGN} end
  waits, last = tonumber(till) > now, tonumber(at)
  local found = ticket > 0 and string.find(text, string.format(';%.0f:', ticket), 1, true)
  if found then
    at, till = string.match(text, '^;%d+:%d+:%d+:%d+:(%d+):(%d+)', found)
    if tonumber(till) > now then mine = tonumber(at) end
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
