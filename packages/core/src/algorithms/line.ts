import type { Algorithm, AlgorithmInput, StoredState } from './algorithm.ts'
import { lineLua, MAX_FLOWS, type TicketNumber } from './line-lua.ts'

/** Somebody who waits. */
export interface Ticket extends Readonly<Record<TicketNumber, number>> {
  /** Chosen at random, from 1 on. */
  readonly id: number
  /** The flow that it belongs to: flows take turns. */
  readonly flow: number
  readonly cost: number
  /** Its place in the order: the units that its flow was promised before it. */
  readonly turn: number
  /** The time from which it fits (epoch ms), … */
  readonly at: number
  /** … and that until which it may come. */
  readonly endsAt: number
}

/** The tickets of a line, in their order. */
export interface Line {
  /** The `turn` of the last that was let in. */
  readonly turn: number
  /** The units that each flow was promised, of those that were promised more than `turn`. */
  readonly flows: ReadonlyMap<number, number>
  readonly tickets: readonly Ticket[]
}

export const EMPTY: Line = { turn: 0, flows: new Map(), tickets: [] }

/** The caller as numbers that an entry has beside its limit and cost. A ticket of 0 is none. */
export interface Asker {
  readonly ticket: number
  readonly flow: number
}

/**
 * Holds back who has no ticket while others wait, and who has one until its time. Its params: the most tickets of a line,
 * and 1 if flows take turns.
 */
export const lineAlgorithm: Algorithm<Line> = {
  id: 'line',
  traits: { ticketed: true },

  check(state: Line | undefined, input: AlgorithmInput, now: number) {
    const { limit, cost } = input
    const waiting = waitingAt(state, now)
    const own = waiting.find(({ id }) => id === ticketOf(input))
    const last = waiting.reduce((latest, { at }) => Math.max(latest, at), 0)
    const opensAt = own ? own.at : last
    const isOpen = waiting.length === 0 || (own !== undefined && own.at <= now)
    return {
      fits: cost === 0 || isOpen,
      available: isOpen ? limit + cost : 0,
      resetMs: Math.max(0, last - now),
      retryMs: cost === 0 || isOpen ? 0 : Math.max(1, opensAt - now),
    }
  },

  add(state: Line | undefined, input: AlgorithmInput, now: number) {
    return { ...stored(without(state ?? EMPTY, ticketOf(input), now, true)), position: 0 }
  },

  lua: () => lineLua,

  // A line counts no units: there is nothing to correct.
  settlement: { settle: () => undefined, lua: () => 'applied = 0' },
}

const ticketOf = (input: AlgorithmInput): number =>
  (input as AlgorithmInput & Partial<Asker>).ticket ?? 0

/** Returns those that wait: who has not come in time has left. */
export const waitingAt = (line: Line | undefined, now: number): readonly Ticket[] =>
  line?.tickets.filter(({ endsAt }) => endsAt > now) ?? []

/**
 * Returns the line without a ticket.
 *
 * @param isServed True if it was let in, so that what its flow was promised counts.
 */
export function without(line: Line, id: number, now: number, isServed: boolean): Line {
  const waiting = waitingAt(line, now)
  const own = waiting.find((ticket) => ticket.id === id)
  if (!own) return lineOf(line.turn, line.flows, waiting)
  const flows = new Map(line.flows)
  // A caller that leaves gives back the last promise to its flow.
  if (!isServed && flows.get(own.flow) === own.turn + own.cost) flows.set(own.flow, own.turn)
  const turn = isServed ? Math.max(line.turn, own.turn) : line.turn
  const others = waiting.filter((ticket) => ticket !== own)
  return lineOf(turn, flows, others)
}

/** Returns a line, which remembers no flow longer than it has to. */
export function lineOf(
  turn: number,
  flows: ReadonlyMap<number, number>,
  tickets: readonly Ticket[],
): Line {
  if (tickets.length === 0) return EMPTY
  const kept = [...flows].filter(([, promised]) => promised > turn)
  if (kept.length <= MAX_FLOWS) return { turn, flows: new Map(kept), tickets }
  const waiting = kept.filter(([flow]) => tickets.some((ticket) => ticket.flow === flow))
  return { turn, flows: new Map(waiting), tickets }
}

/** Returns a line as it is stored, until the last ticket has run out. */
export const stored = (line: Line): StoredState<Line> => ({
  state: line,
  expiresAt: line.tickets.reduce((latest, { endsAt }) => Math.max(latest, endsAt), 0),
})
