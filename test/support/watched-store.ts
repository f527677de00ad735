import { StoreError, type Operation, type Store } from '@sluice/core'

/** A store that counts what it is asked, and fails when told to. */
export class Watched implements Store {
  isDown = false
  readonly calls = { decisions: 0, reads: 0, writes: 0, resets: 0 }
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  accept(...[policies]: Parameters<NonNullable<Store['accept']>>): void {
    this.#store.accept?.(policies)
  }

  check(...[request]: Parameters<Store['check']>): ReturnType<Store['check']> {
    this.#count(request.entries.length > 0 ? 'decisions' : 'reads')
    return this.#answer(() => this.#store.check(request))
  }

  run<Result>(operation: Operation<Result>): Promise<Result> {
    if (operation.kind.name !== 'write') return this.#store.run(operation)
    this.#count('writes')
    return this.#answer(() => this.#store.run(operation))
  }

  reset(keys: readonly string[]): Promise<void> {
    this.#count('resets')
    return this.#answer(() => this.#store.reset(keys))
  }

  #count(kind: keyof Watched['calls']): void {
    this.calls[kind] += 1
  }

  #answer<T>(ask: () => Promise<T>): Promise<T> {
    return this.isDown ? Promise.reject(new StoreError('store_unreachable', 'down')) : ask()
  }
}

/** Counts the calls of a store during an act. */
export async function callsOf(
  store: Watched,
  act: () => Promise<unknown>,
): Promise<Watched['calls']> {
  const before = { ...store.calls }
  await act()
  const after = Object.entries(store.calls).map(([kind, count]) => [
    kind,
    count - before[kind as keyof Watched['calls']],
  ])
  return Object.fromEntries(after) as Watched['calls']
}
