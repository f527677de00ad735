import { beforeAll, describe, expect, it } from 'vitest'
import { explore, Search, type Explored } from './explore.ts'
import type { World } from './model/state.ts'
import type { Move } from './model/steps.ts'
import { EdgeClasses } from './paths.ts'
import type { BackendName } from './replay/backends.ts'
import type { Algorithm } from './replay/product.ts'
import { replayPaths } from './replay/run.ts'

const LONG_MS = 900_000

/** The size of a world. A change of the model changes it. */
export interface Figures {
  readonly states: number
  readonly transitions: number
  readonly classes: number
}

/** Explores a world to its end, and takes its edges with the product. */
export function prove(
  world: World,
  figures: Figures,
  algorithms: readonly Algorithm[] = ['fixedWindow'],
): void {
  describe(`the world of ${world.name}`, () => {
    const search = new Search(world)
    const classes = new EdgeClasses()
    let explored: Explored
    let paths: readonly (readonly Move[])[]
    beforeAll(() => {
      explored = explore(search, (from, state, move) => classes.note(from, state, move))
      paths = [...classes.paths(search)]
      const steps = paths.reduce((sum, path) => sum + path.length, 0)
      const { states, transitions, depth } = explored
      const seconds = Math.round(process.cpuUsage().user / 1e6)
      console.log(
        `${world.name}: ${states} states, ${transitions} transitions, at most ${depth} steps away; ` +
          `${classes.size} classes of edges in ${paths.length} paths of ${steps} steps (${seconds} s of CPU)`,
      )
    }, LONG_MS)

    it('keeps every invariant in every state and on every transition that there is', () => {
      const { states, transitions, violation } = explored
      expect(violation).toBeUndefined()
      expect({ states, transitions, classes: classes.size }).toEqual(figures)
    })

    const rows = algorithms.flatMap((algorithm) =>
      (['memory', 'the Lua in the embedded engine'] as const).map(
        (backend): [Algorithm, BackendName] => [algorithm, backend],
      ),
    )
    it.each(rows)(
      'a %s in %s answers and holds what the model does, on an edge of each class',
      async (algorithm, backend) => {
        expect(await replayPaths(search, paths, backend, algorithm)).toBeUndefined()
      },
      LONG_MS,
    )
  })
}
