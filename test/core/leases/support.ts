import {
  createLimiter,
  manualClock,
  StoreError,
  type Extension,
  type Limiter,
  type ManualClock,
  type Policy,
  type Store,
  type StoreReply,
  type StoreRequest,
} from '@sluice/core'
import { leased, type LeasedOptions, type LeasedStore } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { NOON } from '../../support/times.ts'

/** A store that several processes share. It lists the requests, and can be down or made to wait. */
export class SharedStore implements Store {
  readonly checks: StoreRequest[] = []
  returns = 0
  isDown = false
  #held: Promise<void> | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #store: Store

  constructor(store: Store = memory()) {
    this.#store = store
  }

  async check(request: StoreRequest): Promise<StoreReply> {
    this.#assertUp()
    this.checks.push(request)
    const checking = this.#store.check(request)
    this.#underWay.add(checking)
    const reply = await checking
    await this.#held
    return { ...reply, source: 'store' }
  }

  async run(...[operation]: Parameters<Store['run']>): Promise<never> {
    this.#assertUp()
    this.returns += 1
    const returning = this.#store.run(operation)
    this.#underWay.add(returning)
    return (await returning) as never
  }

  /** Resolves when all blocks and units that are on their way have arrived. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) {
      const all = [...this.#underWay]
      await Promise.allSettled(all)
      for (const one of all) this.#underWay.delete(one)
      // The effects of a reply have begun by then.
      await settled()
    }
  }

  reset(keys: readonly string[]): Promise<void> {
    return this.#store.reset(keys)
  }

  /** Holds back every reply to a check from now on. Returns a function that sends them. */
  holdReplies(): () => void {
    let send: (() => void) | undefined
    this.#held = new Promise((resolve) => (send = resolve))
    return () => {
      this.answerAgain()
      send?.()
    }
  }

  /** Holds back no further reply. Those that are held are lost. */
  answerAgain(): void {
    this.#held = undefined
  }

  #assertUp(): void {
    if (this.isDown) throw new StoreError('store_unreachable', 'down')
  }
}

/** A process that leases from a store. */
export interface Process {
  readonly limiter: Limiter
  readonly store: LeasedStore
}

/** A shared store at noon, and processes that lease from it; not ahead, unless `leases` says so. */
export function setUpLeases(
  policies: readonly Policy[],
  options: { readonly leases?: LeasedOptions; readonly extensions?: readonly Extension[] } = {},
): { shared: SharedStore; clock: ManualClock; start: () => Process } & Process {
  const { leases, extensions = [] } = options
  const shared = new SharedStore()
  const clock = manualClock(NOON)
  const start = (): Process => {
    const store = leased(shared, { fetchAhead: false, ...leases })
    return { store, limiter: createLimiter({ store, policies, clock, extensions }) }
  }
  return { shared, clock, start, ...start() }
}

/** Resolves when the background work that only memory answers is done. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
