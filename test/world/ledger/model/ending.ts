/* The rest of a call that is over. */
import type { Call, State } from './state.ts'
import { IDLE, unitsOfCall, withCall } from './state.ts'

/** True if a sweep has the call of this isolate on its list. */
export const isTarget = ({ calls }: State, index: number): boolean =>
  calls.some(({ targets }) => (targets & (1 << index)) > 0)

/** Ends a call: its isolate is free for another once no sweep has it on its list. */
export function endCall(state: State, index: number, call: Call): State {
  if (!isTarget(state, index)) return withCall(state, index, IDLE)
  const { tenant, mark } = call
  return withCall(state, index, { ...IDLE, place: 'closed', tenant, mark })
}

/** Ends the call of a dead holder, unless somebody can still give its charge back. */
export function endOrDie(state: State, index: number, call: Call): State {
  const { tenant, mark, estimate, unsettled, isDue, isPast, isForgotten, returned } = call
  // Of the others only the charge is left, until the window is over.
  const mayChange = unsettled === 'release' || unitsOfCall(call) > 0
  if (mark !== 'open' || !mayChange) return freeTargetsOf(endCall(state, index, call), call)
  const left = { tenant, mark, estimate, unsettled, isDue, isPast, isForgotten, returned }
  return withCall(state, index, { ...IDLE, ...left, place: 'dead' })
}

/** Frees the calls that only the sweep of a dead isolate still had on its list. */
const freeTargetsOf = (state: State, { targets }: Call): State =>
  targets === 0 ? state : state.calls.reduce((next, _, index) => freeClosed(next, index), state)

export const freeClosed = (state: State, index: number): State =>
  state.calls[index]?.place === 'closed' && !isTarget(state, index)
    ? withCall(state, index, IDLE)
    : state
