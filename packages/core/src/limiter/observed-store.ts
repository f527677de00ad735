import type { Store } from '../stores/store.ts'
import type { LimiterEvents } from './events.ts'
import { systemClock } from '../clock.ts'

/** Wraps a store; tells how long each call took, and how it failed. */
export function observed(store: Store, tell: (event: LimiterEvents['storeCall']) => void): Store {
  async function timed<T>(
    call: LimiterEvents['storeCall']['call'],
    run: () => Promise<T>,
  ): Promise<T> {
    const startedAt = systemClock()
    try {
      const result = await run()
      tell({ call, durationMs: systemClock() - startedAt })
      return result
    } catch (error) {
      tell({ call, durationMs: systemClock() - startedAt, error })
      throw error
    }
  }
  return {
    check: (request) => timed('check', () => store.check(request)),
    run: (operation) => timed('run', () => store.run(operation)),
    reset: (keys) => timed('reset', () => store.reset(keys)),
  }
}
