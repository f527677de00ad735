import type { ProblemRecord } from '../records/record.ts'
import type { ProblemView, StoreView } from '../view.ts'

const MAX_PROBLEMS = 20

export class Health {
  #store: StoreView = { state: 'unknown', since: 0 }
  #problems: readonly ProblemView[] = []
  #decidedAt = 0

  get store(): StoreView {
    return this.#store
  }

  get problems(): readonly ProblemView[] {
    return this.#problems
  }

  /** Takes over that a decision was made at `at` with the store, or without it because of `cause`. */
  setStore(cause: string | undefined, at: number, now: number): void {
    // A limiter whose clock is ahead must not outdate the decisions of all others until then.
    const decidedAt = Math.min(at, now)
    if (decidedAt < this.#decidedAt) return
    this.#decidedAt = decidedAt
    const state = cause === undefined ? 'answering' : 'failing'
    if (this.#store.state === state && this.#store.cause === cause) return
    this.#store = { state, since: now, ...(cause !== undefined && { cause }) }
  }

  addProblem({ code, message }: ProblemRecord, now: number): void {
    const known = this.#problems.find((problem) => problem.message === message)
    const problem = { code, message, at: now, count: (known?.count ?? 0) + 1 }
    const others = this.#problems.filter((other) => other !== known)
    this.#problems = [problem, ...others].slice(0, MAX_PROBLEMS)
  }

  forgetProblems(): void {
    this.#problems = []
  }
}
