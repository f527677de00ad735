import {
  fixedWindow,
  StoreError,
  type Degraded,
  type Limiter,
  type ManualClock,
  type Operation,
  type Problem,
  type Store,
} from '@sluice/core'
import { breaker, type BreakerOptions } from '@sluice/core/breaker'
import { memory } from '@sluice/core/memory'
import { afterEach, beforeEach, vi } from 'vitest'
import { collectProblems, setUp, type SetUpOptions } from '../../../support/limiters.ts'
import { NOON } from '../../../support/times.ts'

export const hourly = fixedWindow({ name: 'hourly', limit: 1_000, window: '1h', per: ['tenant'] })

export const unreachable = (): StoreError => new StoreError('store_unreachable', 'down')

/** Stops the machine's clock at noon. `vi.setSystemTime` and `pass` move it. */
export function stopDates(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}

/** Moves the machine's clock on, or back. */
export const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

/** A call that waits for its outcome. */
interface Held {
  readonly succeed: () => void
  readonly fail: () => void
}

/** A store in memory that notes its calls, fails while it has an error, and holds calls back on demand. */
export class FaultyStore implements Store {
  error: Error | undefined
  readonly calls: string[] = []
  readonly #counts = memory()
  #hold: ((held: Held) => void) | undefined

  check(...[request]: Parameters<Store['check']>): ReturnType<Store['check']> {
    return this.#answer('check', () => this.#counts.check(request))
  }

  run<Result>(operation: Operation<Result>): Promise<Result> {
    return this.#answer(operation.kind.name, () => this.#counts.run(operation))
  }

  reset(keys: readonly string[]): Promise<void> {
    return this.#answer('reset', () => this.#counts.reset(keys))
  }

  /** Holds the next call back. Resolves when it has arrived. */
  holdNext(): Promise<Held> {
    return new Promise((resolve) => (this.#hold = resolve))
  }

  async #answer<T>(call: string, ask: () => Promise<T>): Promise<T> {
    this.calls.push(call)
    const hold = this.#hold
    this.#hold = undefined
    if (hold) {
      await new Promise<void>((resolve, reject) => {
        hold({ succeed: resolve, fail: () => reject(unreachable()) })
      })
    } else if (this.error !== undefined) throw this.error
    return ask()
  }
}

interface Setup {
  readonly limiter: Limiter
  /** The limiter's clock. */
  readonly clock: ManualClock
  readonly store: FaultyStore
  readonly problems: readonly Problem[]
  /** Checks once. Returns the cause if the decision was made without the store. */
  readonly cause: (tenant?: string) => Promise<Degraded['cause'] | undefined>
  /** Has the store fail until the breaker is open. Its calls are then counted from here. */
  readonly open: () => Promise<void>
}

/** A limiter over a breaker, around a store that fails on demand. */
export function setUpBreaker(
  {
    wrap = (store) => store,
    inner = (store) => store,
    policies = [hourly],
    failures = 2,
    cost,
    extensions = [],
    ...options
  }: BreakerOptions &
    SetUpOptions & {
      readonly policies?: Parameters<typeof setUp>[0]
      readonly wrap?: (store: Store) => Store
      readonly inner?: (store: Store) => Store
      /** The cost of each check. @default a request */
      readonly cost?: Record<string, number>
    } = {},
  pauseMs = 1_000,
): Setup {
  const store = new FaultyStore()
  const { problems, listener } = collectProblems()
  const { limiter, clock } = setUp(policies, {
    store: wrap(breaker(inner(store), { failures, pauseMs })),
    extensions: [listener, ...extensions],
    ...options,
  })
  const checkOptions = cost === undefined ? {} : { cost }
  const cause = async (tenant = 'acme') =>
    (await limiter.check({ tenant }, checkOptions)).degraded?.cause
  return {
    limiter,
    clock,
    store,
    problems,
    cause,
    async open() {
      store.error = unreachable()
      for (let count = 0; count < failures; count += 1) await cause()
      store.calls.length = 0
    },
  }
}
