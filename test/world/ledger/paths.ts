import { classOf } from './classes.ts'
import type { Search } from './explore.ts'
import { movesFrom } from './model/moves.ts'
import type { State, World } from './model/state.ts'
import type { Move } from './model/steps.ts'

/** The steps of a path after which it does not go on: time must not run into a window that the model does not know. */
const MAX_STEPS = 50
const MAX_WAITS = 25

/** States to look at for an edge of a class that is missing, before another path is begun. */
const MAX_LOOKED_AT = 300

/** The first edge of each class, by the number of the state that it leaves. */
export class EdgeClasses {
  readonly #first = new Map<string, number>()

  get size(): number {
    return this.#first.size
  }

  note(from: number, state: State, move: Move): void {
    const name = classOf(state, move)
    if (!this.#first.has(name)) this.#first.set(name, from)
  }

  /** Yields paths from the first state which together have an edge of each class. */
  *paths(search: Search): Generator<readonly Move[]> {
    const missing = new Map(this.#first)
    // Those that were found last are furthest away, and have most of the others on their way.
    for (const [name, from] of [...this.#first].toReversed()) {
      if (!missing.has(name)) continue
      const { moves, end } = search.pathTo(from)
      const path: Move[] = []
      let state = search.first
      const take = (move: Move): void => {
        missing.delete(classOf(state, move))
        path.push(move)
        state = move.next
      }
      for (const move of moves) take(move)
      take(findMove(search.world, end, (other) => other === name) as Move)
      while (path.length < MAX_STEPS && countWaits(path) < MAX_WAITS) {
        const onward = nearest(state, missing, search)
        if (!onward) break
        for (const move of onward) take(move)
      }
      yield path
    }
  }
}

const findMove = (
  world: World,
  state: State,
  isWanted: (name: string) => boolean,
): Move | undefined => movesFrom(state, world).find((move) => isWanted(classOf(state, move)))

/** Returns the shortest way to an edge of a missing class, that edge included. */
function nearest(
  start: State,
  missing: ReadonlyMap<string, number>,
  search: Search,
): readonly Move[] | undefined {
  const ways: { readonly state: State; readonly moves: readonly Move[] }[] = [
    { state: start, moves: [] },
  ]
  const seen = new Set([search.numberOf(start)])
  for (const { state, moves } of ways) {
    const found = findMove(search.world, state, (name) => missing.has(name))
    if (found) return [...moves, found]
    if (ways.length >= MAX_LOOKED_AT) continue
    for (const move of movesFrom(state, search.world)) {
      const number = search.numberOf(move.next)
      if (seen.has(number)) continue
      seen.add(number)
      ways.push({ state: move.next, moves: [...moves, move] })
    }
  }
  return undefined
}

const countWaits = (path: readonly Move[]): number =>
  path.filter(({ step: { kind } }) => kind === 'wait').length
