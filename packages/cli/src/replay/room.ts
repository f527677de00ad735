/* Counts the calls that budgets in dollars have room for, and that another limit denies. */
import type { PolicyState } from '@sluice/core'
import type { Denial } from '@sluice/replay'

/** A call that had room, and that no budget has been charged for. */
interface Taken {
  readonly at: number
  readonly usd: number
}

/** The calls that had room in one partition, of the last window. */
interface Budget {
  readonly taken: Taken[]
  sum: number
}

/** Tells which calls budgets have room for, beside those that had it before. */
export interface Room {
  /** Returns true if every policy in dollars has room for a call that is denied. Without one, nothing is known. */
  take(call: Denial['call'], policies: readonly PolicyState[]): boolean
}

export function createRoom(): Room {
  const budgets = new Map<string, Budget>()
  return {
    take({ at, subject }, policies) {
      const counted = policies
        .filter(({ unit }) => unit === 'usd')
        .map((state) => {
          // A tenant has one budget here even if a policy gives it several: the number is the least.
          const key = state.scope === 'global' ? state.name : `${state.name} ${subject.tenant}`
          const budget = budgets.get(key) ?? { taken: [], sum: 0 }
          budgets.set(key, budget)
          return { state, budget }
        })
      for (const { state, budget } of counted) forget(budget, at - state.windowMs)
      const fits = counted.every(
        ({ state, budget }) => state.fits && state.cost + budget.sum <= state.remaining,
      )
      if (!fits) return false
      for (const { state, budget } of counted) {
        budget.taken.push({ at, usd: state.cost })
        budget.sum += state.cost
      }
      return counted.length > 0
    },
  }
}

/** Forgets calls whose window is over. */
function forget(budget: Budget, until: number): void {
  for (let oldest = budget.taken[0]; oldest && oldest.at <= until; oldest = budget.taken[0]) {
    budget.taken.shift()
    budget.sum -= oldest.usd
  }
}
