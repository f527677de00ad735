import { Codec } from './model/codec.ts'
import { violatedBy, violatedIn } from './model/invariants.ts'
import { movesFrom } from './model/moves.ts'
import { initialState, type State, type World } from './model/state.ts'
import { describeStep, type Move } from './model/steps.ts'

/** The whole of a world: each state once, up to names, and each step from it. */
export interface Explored {
  readonly states: number
  readonly transitions: number
  /** The number of steps to the states that are furthest from the first. */
  readonly depth: number
  /** The first violation, with a shortest path to it. */
  readonly violation: { readonly invariant: string; readonly path: readonly string[] } | undefined
}

/** The states of a world in the order in which they are found, which is that of their distance. */
export class Search {
  readonly world: World
  readonly first: State
  readonly #codec: Codec
  readonly #numbers = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #parents: number[] = []

  constructor(world: World) {
    this.world = world
    this.first = initialState(world)
    this.#codec = new Codec(this.first)
    this.add(this.first, -1)
  }

  get size(): number {
    return this.#keys.length
  }

  /** Returns the number of a state that is known. */
  numberOf(state: State): number {
    return this.#numbers.get(this.#codec.encode(state)) ?? -1
  }

  /** Adds a state that follows `parent`, unless it is known. */
  add(state: State, parent: number): void {
    const key = this.#codec.encode(state)
    if (this.#numbers.has(key)) return
    this.#numbers.set(key, this.#keys.push(key) - 1)
    this.#parents.push(parent)
  }

  at(number: number): State {
    return this.#codec.decode(this.#keys[number] as string)
  }

  /** The moves by which a state was first found, with the names that isolates and tenants have from the start. */
  pathTo(number: number): { readonly moves: readonly Move[]; readonly end: State } {
    const trail: number[] = []
    for (let at = number; at > 0; at = this.#parents[at] as number) trail.unshift(at)
    let end = this.first
    const moves = trail.map((to) => {
      const move = movesFrom(end, this.world).find(
        ({ next }) => this.#codec.encode(next) === this.#keys[to],
      )
      if (!move) throw new Error('a state does not follow its parent')
      end = move.next
      return move
    })
    return { moves, end }
  }
}

/**
 * Explores every reachable state, breadth first, until there is no new one or an invariant is violated.
 *
 * @param visit Called for each transition, with the number of the state that it leaves.
 */
export function explore(
  search: Search,
  visit: (from: number, state: State, move: Move) => void = () => {},
): Explored {
  const { world } = search
  let [transitions, depth, levelEnd] = [0, 0, 1]
  const violationOf = (state: State, move: Move): string | undefined =>
    violatedBy(state, move, world) ?? violatedIn(move.next, world)
  for (let from = 0; from < search.size; from += 1) {
    if (from === levelEnd) {
      depth += 1
      levelEnd = search.size
    }
    const state = search.at(from)
    for (const move of movesFrom(state, world)) {
      transitions += 1
      if (violationOf(state, move)) {
        const { moves, end } = search.pathTo(from)
        // The same step, by the names of the path.
        const last = movesFrom(end, world).find((one) => violationOf(end, one)) as Move
        const invariant = violationOf(end, last) as string
        const violation = { invariant, path: [...moves, last].map(describeStep) }
        return { states: search.size, transitions, depth, violation }
      }
      visit(from, state, move)
      search.add(move.next, from)
    }
  }
  return { states: search.size, transitions, depth, violation: undefined }
}
