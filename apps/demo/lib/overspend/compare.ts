import { reserve } from '@sluice/core/reservations'
import { BUDGET, budgetLimiter } from '../limits/overspend'
import { calls, type Call, type Fate } from './calls'
import { costOf } from './model'
import { streamAnswer } from './stream-answer'
import { MAX_OUTPUT, ways, type Way } from './ways'

/** The result of one way. Amounts are micro-dollars. */
export interface WayResult {
  readonly id: Way['id']
  readonly answered: number
  /** The answers that were cut because too little was left for all of them. */
  readonly shortened: number
  readonly refused: number
  /** The refused calls that the money that nobody has used would have paid for. */
  readonly falselyRefused: number
  /** The provider's bill. */
  readonly billed: number
  /** The part of the bill above the budget. */
  readonly overspend: number
  /** The rest of the budget, as the limiter counts it. */
  readonly remaining: number
  /** The least that any of the refused calls has asked for; none if none was refused. */
  readonly leastRefused: number | null
}

/** The results of all ways with the same calls. */
export interface Comparison {
  readonly budget: number
  readonly calls: number
  /** The calls whose reader leaves halfway. */
  readonly left: number
  /** The calls whose holder dies halfway. */
  readonly lost: number
  readonly ways: readonly WayResult[]
}

/** Holds the same calls to the same budget in each way. @throws Error If the store fails. */
export async function compare(): Promise<Comparison> {
  const results: WayResult[] = []
  // One after the other: 200 requests at once are enough for a small store.
  for (const way of ways) results.push(await runWay(way))
  const [left, lost] = [countFate('left'), countFate('lost')]
  return { budget: BUDGET, calls: calls.length, left, lost, ways: results }
}

/** The calls that ask at the same time, after the first round. */
const GROUP_SIZE = 20

const countFate = (fate: Fate): number => calls.filter((call) => call.fate === fate).length

/**
 * Makes all calls at once. Those that are allowed stream at the same time, after all have asked: real
 * answers take seconds, and asking takes milliseconds. Those that are refused ask again when these
 * streams are over, until a whole round is refused: then no money will come back.
 */
async function runWay(way: Way): Promise<WayResult> {
  const run = `${way.id}-${crypto.randomUUID()}`
  let refused = calls
  let billed = 0
  let shortened = 0
  for (let groupSize = calls.length, isOver = false; !isOver; groupSize = GROUP_SIZE) {
    const streams = await startRound(way, run, refused, groupSize)
    const bills = await Promise.all([...streams.values()].map(({ send }) => send()))
    billed += bills.reduce((sum, bill) => sum + bill, 0)
    shortened += [...streams].filter(([call, { maxTokens }]) => maxTokens < call.output).length
    refused = refused.filter((call) => !streams.has(call))
    isOver = refused.length === 0 || streams.size === 0
  }
  const { policies } = await budgetLimiter.peek({ run }, { cost: { usd: 0 } })
  return {
    id: way.id,
    answered: calls.length - refused.length,
    shortened,
    refused: refused.length,
    falselyRefused: countPayable(refused, BUDGET - billed),
    billed,
    overspend: Math.max(0, billed - BUDGET),
    remaining: policies[0]?.remaining ?? 0,
    leastRefused:
      refused.length > 0 ? Math.min(...refused.map((call) => leastOf(way, call))) : null,
  }
}

/** A call that was let through. */
interface Stream {
  readonly maxTokens: number
  /** Streams the answer, settles it, and resolves to the bill. */
  readonly send: () => Promise<number>
}

/**
 * Lets calls ask in groups, and returns those that are let through. To save requests, a group that is
 * refused as a whole ends the round, unless nothing streams yet.
 */
async function startRound(way: Way, run: string, waiting: readonly Call[], groupSize: number) {
  const streams = new Map<Call, Stream>()
  for (let from = 0; from < waiting.length; from += groupSize) {
    const before = streams.size
    const ask = async (call: Call): Promise<void> => {
      const stream = await reserveCall(way, run, call)
      if (stream) streams.set(call, stream)
    }
    await Promise.all(waiting.slice(from, from + groupSize).map(ask))
    if (before > 0 && streams.size === before) break
  }
  return streams
}

async function reserveCall(way: Way, run: string, call: Call): Promise<Stream | undefined> {
  const options = { ...way.reservation(call), settleWithin: '2m' } as const
  const decision = await reserve(budgetLimiter, { run }, options)
  if (decision.degraded) throw new Error('The store does not answer')
  if (!decision.allowed) return undefined
  const maxTokens = 'granted' in decision ? decision.granted : MAX_OUTPUT
  const { settlesPartialAnswers } = way
  const settle = (usd: number) => decision.settle({ usd })
  return { maxTokens, send: () => streamAnswer(call, { maxTokens, settlesPartialAnswers, settle }) }
}

/** Returns the smallest amount for which a way lets a call through. */
function leastOf(way: Way, call: Call): number {
  const { cost, fit } = way.reservation(call)
  const least = fit?.costAtFloor(cost) ?? cost
  return typeof least === 'object' ? (least['usd'] ?? 0) : 0
}

/** Counts the calls, in their order, that `money` pays for. */
function countPayable(refused: readonly Call[], money: number): number {
  let left = money
  return refused.filter(({ input, output }) => {
    const cost = costOf(input, output)
    if (cost > left) return false
    left -= cost
    return true
  }).length
}
