import { StoreError, type Store } from '@sluice/core'

/** The loss of a request before the store has it, of the store's reply, or of neither. */
export type Loss = 'request' | 'reply' | undefined

/** A store of which decisions and settlements get lost. Other calls, such as looks and records, do not. */
export interface LosingStore {
  readonly store: Store
  /** Sets the losses of the next decisions and settlements, in order. */
  lose(losses: readonly Loss[]): void
  /** The losses that are left. */
  readonly left: readonly Loss[]
}

/** Wraps a store so that calls get lost on the way to it and back. */
export function losingStore(inner: Store): LosingStore {
  let losses: Loss[] = []
  async function pass<T>(call: () => Promise<T>): Promise<T> {
    const loss = losses.shift()
    if (loss === 'request') throw unreachable()
    const result = await call()
    if (loss === 'reply') throw unreachable()
    return result
  }
  return {
    store: {
      ...inner,
      check: (request) => (request.apply ? pass(() => inner.check(request)) : inner.check(request)),
      run: (operation) =>
        operation.kind.name === 'settle' ? pass(() => inner.run(operation)) : inner.run(operation),
    },
    lose: (next) => void (losses = [...next]),
    get left() {
      return losses
    },
  }
}

const unreachable = (): StoreError =>
  new StoreError('store_unreachable', 'The store cannot be reached')
