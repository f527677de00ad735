import { reserve } from '@sluice/core/reservations'
import { BUDGET, getBudgetLimiter } from '../limits/overspend'
import { calls, type Call, type Fate } from './calls'
import { costOf } from './model'
import { stream } from './stream'
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
  return {
    budget: BUDGET,
    calls: calls.length,
    left: countFate('left'),
    lost: countFate('lost'),
    ways: await Promise.all(ways.map(runWay)),
  }
}

const countFate = (fate: Fate): number => calls.filter((call) => call.fate === fate).length

/**
 * Makes all calls at once. Those that are allowed stream at the same time; those that are refused ask
 * again when these streams are over, until a whole round is refused: then no money will come back.
 */
async function runWay(way: Way): Promise<WayResult> {
  const run = `${way.id}-${crypto.randomUUID()}`
  let waiting = calls
  let billed = 0
  let shortened = 0
  for (let isOver = false; !isOver;) {
    const round = await Promise.all(waiting.map((call) => ask(way, run, call)))
    const allowed = round.filter(({ send }) => send !== undefined)
    const bills = await Promise.all(round.map(({ send }) => send?.() ?? 0))
    billed += bills.reduce((sum, bill) => sum + bill, 0)
    shortened += allowed.filter(({ call, maxTokens }) => maxTokens < call.output).length
    waiting = round.filter(({ send }) => send === undefined).map(({ call }) => call)
    isOver = waiting.length === 0 || allowed.length === 0
  }
  const { policies } = await getBudgetLimiter().peek({ run }, { cost: { usd: 0 } })
  return {
    id: way.id,
    answered: calls.length - waiting.length,
    shortened,
    refused: waiting.length,
    falselyRefused: countPayable(waiting, BUDGET - billed),
    billed,
    overspend: Math.max(0, billed - BUDGET),
    remaining: policies[0]?.remaining ?? 0,
    leastRefused:
      waiting.length > 0 ? Math.min(...waiting.map((call) => leastOf(way, call))) : null,
  }
}

/** Reserves a call. If it is allowed, the result has `send`, which streams and settles it. */
async function ask(way: Way, run: string, call: Call) {
  const options = { ...way.reservation(call), settleWithin: '2m' } as const
  const decision = await reserve(getBudgetLimiter(), { run }, options)
  if (decision.degraded) throw new Error('The store does not answer')
  if (!decision.allowed) return { call, maxTokens: 0 }
  const maxTokens = 'granted' in decision ? Number(decision.granted) : MAX_OUTPUT
  const { settlesPartialAnswers } = way
  const settle = (usd: number) => decision.settle({ usd })
  return { call, maxTokens, send: () => stream(call, { maxTokens, settlesPartialAnswers, settle }) }
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
