/* The operations on a line: to stand in it, and to leave it. */
import type { AlgorithmInput } from '../algorithms/algorithm.ts'
import type { LuaOperation, LuaOperationKind } from '../lua/twins.ts'
import type { Entry, OperationKind, StateMap, StoreRequest } from '../stores/store.ts'
import { EMPTY, lineOf, stored, waitingAt, without, type Asker, type Line } from '../algorithms/line.ts'
import { LINE_FUNCTIONS } from '../algorithms/line-lua.ts'
import { argument } from '../lua/expressions.ts'
import { CLOCK, indent, isWhole } from '../lua/program.ts'

/** The time for which a ticket is kept for one that is late, in milliseconds. */
export const GRACE_MS = 3_000

/** A line, and the limit before which it stands: two entries of one request. */
export interface LinedEntries {
  readonly line: Entry & Asker
  readonly limit: Entry
}

/** A request to stand in a line, or to see how long it still takes. */
export interface StandRequest
  extends Pick<StoreRequest, 'now' | 'clockIsInjected'>, LinedEntries {
  /** The longest time until it fits, in milliseconds. If it takes longer, the line is left. */
  readonly longestMs: number
  /** The window of the limit. Not all of a policy travels to a Durable Object. */
  readonly windowMs: number
}

/** The place of a ticket. */
export type Standing =
  /** It fits in so many milliseconds if nothing else is charged. */
  | { readonly is: 'waiting'; readonly dueMs: number }
  | { readonly is: 'too_long' }
  | { readonly is: 'full' }

/** A request to leave a line. */
export interface LeaveRequest extends Pick<StoreRequest, 'now' | 'clockIsInjected'> {
  readonly ticket: number
}

/** Stands in a line. KEYS: the line, and that of the limit. */
export const STAND: LuaOperationKind<Standing, StandRequest> = {
  name: 'line.stand',
  run: (states, { data }) => standInMemory(states, data),
  lua: {
    shape: ({ limit: { policy } }) => `${policy.algorithm.id} ${policy.params.join(' ')}`,
    script: standingScript,
    args: ({ now, clockIsInjected, line, limit, longestMs, windowMs }) =>
      [
        now,
        clockIsInjected ? 'injected' : 'own',
        line.ticket,
        line.flow,
        line.cost,
        mostOf(line),
        takesTurns(line) ? 1 : 0,
        longestMs,
        limit.limit,
        limit.burst,
        windowMs,
      ].map(String),
    parse: parseStanding,
  },
}

/** Leaves a line. KEYS: the line. */
export const LEAVE: LuaOperationKind<boolean, LeaveRequest> = {
  name: 'line.leave',
  run(states, { keys: [key = ''], data: { ticket, now } }) {
    const line = states.get(key, now) as Line | undefined
    if (line) states.set(key, stored(without(line, ticket, now, false)))
    return true
  },
  lua: {
    script: () => `${CLOCK}${LINE_FUNCTIONS}
local text = redis.call('GET', KEYS[1])
if text then leaveLine(KEYS[1], text, tonumber(ARGV[3]), false) end
return 1
`,
    args: ({ now, clockIsInjected, ticket }) =>
      [now, clockIsInjected ? 'injected' : 'own', ticket].map(String),
    parse: (reply) => (reply === 1 ? { result: true } : undefined),
  },
}

/** The operations of lines, for the class of Durable Objects that counts them: see `docs/waiting.md`. */
export const lineOperations: readonly OperationKind<unknown>[] = [
  STAND,
  LEAVE,
] as readonly OperationKind<unknown>[]

/** Creates the operation that stands in a line. */
export const standOperation = (
  data: Omit<StandRequest, 'windowMs'>,
  startedAt: number,
): LuaOperation<Standing, StandRequest> => ({
  kind: STAND,
  keys: [data.line.key, data.limit.key],
  data: { ...data, windowMs: data.limit.policy.windowMs },
  startedAt,
})

/** Creates the operation that leaves a line. */
export const leaveOperation = (
  key: string,
  data: LeaveRequest,
  startedAt: number,
): LuaOperation<boolean, LeaveRequest> => ({ kind: LEAVE, keys: [key], data, startedAt })

const mostOf = ({ params: [most = 1] }: AlgorithmInput): number => most

const takesTurns = ({ params: [, turns = 0] }: AlgorithmInput): boolean => turns === 1

function standInMemory(states: StateMap, data: StandRequest): Standing {
  const { line: asker, longestMs, now } = data
  const { ticket: id, flow, cost } = asker
  const line = states.get(asker.key, now) as Line | undefined
  const tickets = [...waitingAt(line, now)]
  const { turn, flows } = line && tickets.length > 0 ? line : EMPTY
  const save = (changed: Line): void => states.set(asker.key, stored(changed))

  let place = tickets.findIndex((ticket) => ticket.id === id)
  const isNew = place < 0
  const begin = Math.max(turn, flows.get(flow) ?? 0)
  if (isNew) {
    const free = mostOf(asker) - tickets.length
    const others = tickets.filter((ticket) => ticket.flow === flow).length
    if (free <= 0 || (takesTurns(asker) && others >= Math.max(1, free))) return { is: 'full' }
    const behind = tickets.findIndex((ticket) => ticket.turn > begin)
    place = behind < 0 ? tickets.length : behind
  }
  const ahead = tickets.slice(0, place)
  const due = waitOf(states, data, unitsOf(ahead) + cost)
  const dueMs = Math.max(due, (ahead.at(-1)?.at ?? 0) - now)
  if (dueMs > longestMs) {
    if (!isNew) save(without(line as Line, id, now, false))
    return { is: 'too_long' }
  }
  const known = tickets[place]
  const own = { id, flow, cost, turn: isNew ? begin : (known?.turn ?? 0), at: now + dueMs }
  const behind = tickets.slice(isNew ? place : place + 1)
  const ats = behind.map(({ at }) => at)
  if (isNew && behind.length > 0) {
    // Each moves back by one.
    ats.shift()
    ats.push(now + waitOf(states, data, unitsOf(tickets) + cost))
  }
  let last = own.at
  const moved = behind.map((ticket, index) => {
    last = Math.max(last, ticket.at, ats[index] ?? 0)
    return { ...ticket, at: last, until: Math.max(ticket.until, last + GRACE_MS) }
  })
  const promised = isNew ? new Map(flows).set(flow, begin + cost) : flows
  save(lineOf(turn, promised, [...ahead, { ...own, until: own.at + GRACE_MS }, ...moved]))
  return { is: 'waiting', dueMs }
}

const unitsOf = (tickets: readonly { readonly cost: number }[]): number =>
  tickets.reduce((sum, { cost }) => sum + cost, 0)

/** Returns the time until so many units fit, in milliseconds. Beyond the burst they come at the pace of the limit. */
function waitOf(
  states: StateMap,
  { limit: entry, windowMs, now }: StandRequest,
  units: number,
): number {
  const { key, limit, burst, policy } = entry
  const over = Math.max(0, units - burst)
  const state = states.get(key, now) as never
  const { fits, retryMs } = policy.algorithm.check(state, { ...entry, cost: units - over }, now)
  return (fits ? 0 : retryMs) + Math.ceil((over * windowMs) / limit)
}

const FIRST_ARG = 3
const NAMES = 'ticket, flow, units, most, turns, longest, limit, burst, window'

/** The script of the operation, for limits of one algorithm. See `standInMemory`. */
function standingScript({ limit: { policy } }: StandRequest): string {
  const { keeps = [], read = '', check } = policy.algorithm.lua(policy.params)
  const plain = (text: string): string => text.replace(/\$(?=\w)/g, 'kept_')
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
  if one[1] == ticket then place, mine = at, one end
  if one[2] == flow then same = same + 1 end
  total = total + one[3]
end
local isNew = not mine
if isNew then
  local free = most - #tickets
  if free <= 0 or turns == 1 and same >= math.max(1, free) then return { -1, 0 } end
  for _, one in ipairs(flows) do
    if one[1] == flow then promise = one end
  end
  local begin = math.max(turn, promise and promise[2] or 0)
  place = 1
  while tickets[place] and tickets[place][4] <= begin do place = place + 1 end
  mine = { ticket, flow, units, begin, 0, 0 }
end
for at = 1, place - 1 do ahead = ahead + tickets[at][3] end
local due = waitOf(ahead + units)
if place > 1 then due = math.max(due, tickets[place - 1][5] - now) end
if due > longest then
  if not isNew then leaveLine(line, text, ticket, false) end
  return { 0, 0 }
end
if isNew then
  -- Each of those behind moves back by one.
  local count = #tickets
  for at = place, count - 1 do tickets[at][5] = math.max(tickets[at][5], tickets[at + 1][5]) end
  if place <= count then tickets[count][5] = math.max(tickets[count][5], now + waitOf(total)) end
  table.insert(tickets, place, mine)
  if promise then promise[2] = mine[4] + units else flows[#flows + 1] = { flow, mine[4] + units } end
end
mine[5], mine[6] = now + due, now + due + ${GRACE_MS}
local last = mine[5]
for at = place + 1, #tickets do
  local one = tickets[at]
  last = math.max(last, one[5])
  one[5], one[6] = last, math.max(one[6], last + ${GRACE_MS})
end
writeLine(line, turn, flows, tickets)
return { 1, due }
`
}

function parseStanding(reply: unknown): { readonly result: Standing } | undefined {
  if (!Array.isArray(reply) || !reply.every(Number.isInteger)) return undefined
  const [is, dueMs = -1] = reply as number[]
  if (is === -1) return { result: { is: 'full' } }
  if (is === 0) return { result: { is: 'too_long' } }
  return is === 1 && dueMs >= 0 ? { result: { is: 'waiting', dueMs } } : undefined
}
