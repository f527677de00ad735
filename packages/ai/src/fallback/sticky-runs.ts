import type { Subject } from '@sluice/core'
import type { PreparedCall } from '../call/prepare.ts'

/** The most runs to remember. Past that, the one that called longest ago is forgotten. */
const MAX_RUNS = 10_000

/** The models that have answered runs, so that the next call of a run begins with its own. */
export class StickyRuns {
  readonly #dimension: string
  readonly #models = new Map<string, string>()

  /** @param dimension The dimension of subjects that names a run. */
  constructor(dimension: string) {
    this.#dimension = dimension
  }

  /** Returns the calls of a list, that of the run's model first, and those after it before those that were passed over. */
  inOrder<Call extends PreparedCall>(subject: Subject, calls: readonly Call[]): readonly Call[] {
    const model = this.#models.get(this.#runOf(subject))
    const first = calls.findIndex((call) => call.model === model)
    return first > 0 ? [...calls.slice(first), ...calls.slice(0, first)] : calls
  }

  /** Notes the model that answers. */
  note(subject: Subject, model: string): void {
    const run = this.#runOf(subject)
    this.#models.delete(run)
    if ((subject as Record<string, unknown>)[this.#dimension] !== undefined) {
      this.#models.set(run, model)
    }
    const [oldest = ''] = this.#models.keys()
    if (this.#models.size > MAX_RUNS) this.#models.delete(oldest)
  }

  /** Runs of two tenants may have one name, and a run may ask for several models. */
  #runOf(subject: Subject): string {
    const { tenant, askedModel, [this.#dimension]: run } = subject as Record<string, unknown>
    return JSON.stringify([tenant, askedModel, run])
  }
}
