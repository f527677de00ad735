import { addCallMoves } from './call-steps.ts'
import { addLeaseMoves } from './lease-steps.ts'
import type { State, World } from './state.ts'
import type { Move } from './steps.ts'
import { addWorldMoves } from './time-steps.ts'

/** Returns everything that can happen next. */
export function movesFrom(state: State, world: World): Move[] {
  const moves: Move[] = []
  for (const index of state.calls.keys()) addCallMoves(state, index, world, moves)
  for (const index of state.holdings.keys()) addLeaseMoves(state, index, world, moves)
  addWorldMoves(state, world, moves)
  return moves
}
