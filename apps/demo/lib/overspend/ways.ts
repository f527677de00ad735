import { fitRange, type ReserveOptions } from '@sluice/core/reservations'
import type { Call } from './calls'
import { costOf, OUTPUT_RATE } from './model'

/** A way to hold model calls to a budget. */
export interface Way {
  readonly id: 'check-then-count' | 'reserve-maximum' | 'reserve-and-fit'
  /** The reservation of a call before it is sent. */
  readonly reservation: (call: Call) => ReserveOptions<'usd'>
  /** True to settle an answer that breaks off. Otherwise the code after the answer never runs. */
  readonly settlesPartialAnswers: boolean
}

/** The most output tokens of an answer. The longest of the calls needs fewer. */
export const MAX_OUTPUT = 1_000
/** The fewest output tokens that an answer is worth. */
const MIN_OUTPUT = 50

const fit = fitRange({ floor: MIN_OUTPUT, most: MAX_OUTPUT, rates: { usd: OUTPUT_RATE } })

/** The ways that are compared. */
export const ways: readonly Way[] = [
  {
    id: 'check-then-count',
    // The smallest amount of all asks no more than whether the budget is spent.
    reservation: () => ({ cost: { usd: 1 } }),
    settlesPartialAnswers: false,
  },
  {
    id: 'reserve-maximum',
    reservation: ({ input }) => ({ cost: { usd: costOf(input, MAX_OUTPUT) } }),
    settlesPartialAnswers: false,
  },
  {
    id: 'reserve-and-fit',
    reservation: ({ input }) => ({ cost: { usd: costOf(input, 0) }, fit }),
    settlesPartialAnswers: true,
  },
]
