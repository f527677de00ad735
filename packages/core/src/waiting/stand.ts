/* The operations on a line: to stand in it, and to leave it. */
import type { AlgorithmInput } from '../algorithms/algorithm.ts'
import type { LuaOperation, LuaOperationKind } from '../lua/twins.ts'
import { layoutOf } from '../lua/call.ts'
import type { Entry, OperationKind, StateMap, StoreRequest } from '../stores/store.ts'
import {
  EMPTY,
  lineOf,
  stored,
  waitingAt,
  without,
  type Asker,
  type Line,
  type Ticket,
} from '../algorithms/line.ts'
import { GRACE_MS, leavingScript, standingScript } from './stand-lua.ts'

/** A line, and the limit before which it stands: two entries of one request. */
export interface LinedEntries {
  readonly line: Entry & Asker
  readonly limit: Entry
}

/** A request to stand in a line, or to see how long it still takes. */
export interface StandRequest extends Pick<StoreRequest, 'now' | 'clockIsInjected'>, LinedEntries {
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
const STAND: LuaOperationKind<Standing, StandRequest> = {
  name: 'line.stand',
  run: (states, { data }) => standInMemory(states, data),
  lua: {
    shape: ({ limit }) => layoutOf([limit.policy]).shape,
    script: ({ limit }) => standingScript(limit.policy),
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
        ...Object.values(limit.policy.calendar?.timesOf(limit) ?? {}),
      ].map(String),
    parse: parseStanding,
  },
}

/** Leaves a line. KEYS: the line. */
const LEAVE: LuaOperationKind<boolean, LeaveRequest> = {
  name: 'line.leave',
  run(states, { keys: [key = ''], data: { ticket, now } }) {
    const line = states.get(key, now) as Line | undefined
    if (line) states.set(key, stored(without(line, ticket, now, false)))
    return true
  },
  lua: {
    script: leavingScript,
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
  const turnOfOwn = isNew ? begin : (known?.turn ?? 0)
  const own = dueAt({ id, flow, cost, turn: turnOfOwn, at: 0, endsAt: 0 }, now + dueMs)
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
    return dueAt(ticket, last)
  })
  const promised = isNew ? new Map(flows).set(flow, begin + cost) : flows
  save(lineOf(turn, promised, [...ahead, own, ...moved]))
  return { is: 'waiting', dueMs }
}

const dueAt = (ticket: Ticket, at: number): Ticket => ({
  ...ticket,
  at,
  endsAt: Math.max(ticket.endsAt, at + GRACE_MS),
})

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

function parseStanding(reply: unknown): { readonly result: Standing } | undefined {
  if (!Array.isArray(reply) || !reply.every(Number.isInteger)) return undefined
  const [is, dueMs = -1] = reply as number[]
  if (is === -1) return { result: { is: 'full' } }
  if (is === 0) return { result: { is: 'too_long' } }
  return is === 1 && dueMs >= 0 ? { result: { is: 'waiting', dueMs } } : undefined
}
