import type { SettleRequest } from '../reservations/settle-request.ts'
import type { Entry, Store, StoreRequest } from '../stores/store.ts'
import { requestId } from '../internal/random-id.ts'
import { keepingMark } from '../reservations/mark.ts'
import { correctCharges } from './corrections.ts'
import { RETURN_WITHIN_MS } from './block.ts'

/** Units that a call has used beyond what its lease had, to be charged in the store, even past the limit. */
export class Overrun {
  readonly #store: Store
  readonly #entry: Entry
  readonly #block: Pick<StoreRequest, 'policies'>
  readonly #units: number
  readonly #id: string = requestId()
  /** The steps that are left. */
  #steps: ('mark' | 'charge')[] = ['mark', 'charge']

  constructor(store: Store, entry: Entry, block: Pick<StoreRequest, 'policies'>, units: number) {
    this.#store = store
    this.#entry = entry
    this.#block = block
    this.#units = units
    if (units === 0) this.#steps = []
  }

  /**
   * Charges them: a cost of 0, which always fits, is let in with a mark, and the mark is settled. It may be repeated
   * after a failure.
   */
  async charge({ now, clockIsInjected }: SettleRequest, startedAt: number): Promise<void> {
    const entry = this.#entry
    const facts = { id: this.#id, now, clockIsInjected }
    if (this.#steps[0] === 'mark') {
      const mark = keepingMark(this.#id, RETURN_WITHIN_MS)
      const entries = [{ ...entry, cost: 0 }]
      const { policies } = this.#block
      const request = { ...facts, policies, entries, mark, apply: true, startedAt, reads: [] }
      await this.#store.check(request)
      this.#steps = ['charge']
    }
    if (this.#steps[0] === 'charge') {
      const charge = { entry, reserved: 0, actual: this.#units }
      await correctCharges(this.#store, facts, [charge], startedAt)
      this.#steps = []
    }
  }
}
