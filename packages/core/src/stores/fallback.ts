import type { Store } from '../store.ts'
import { SluiceError, StoreError } from '../errors.ts'
import { memory } from './memory.ts'

/**
 * What to do when the store fails: let the request pass, refuse it, or hold it to the same policies
 * counted in this process's own memory.
 */
export type OnStoreError = 'allow' | 'deny' | 'local'

/** A store that answers in the stead of `primary` whenever that one fails. `write` and `reset` still throw. */
export function withFallback(primary: Store, mode: OnStoreError): Store {
  const local = memory()
  return {
    async check(request) {
      try {
        const reply = await primary.check(request)
        if (reply.degraded || reply.verdicts.length === request.entries.length) return reply
        throw new StoreError('store_bad_reply', 'The store gave no verdict for some of the entries')
      } catch (error) {
        if (error instanceof SluiceError && !(error instanceof StoreError)) throw error
        const cause = error instanceof StoreError ? error.code : 'store_failed'
        const reply =
          mode === 'local'
            ? await local.check({ ...request, reads: [] })
            : { now: request.now, verdicts: [], read: [] }
        return { ...reply, degraded: { cause, mode } }
      }
    },
    write: (writes, condition) => primary.write(writes, condition),
    async reset(keys) {
      await local.reset(keys)
      await primary.reset(keys)
    },
  }
}
