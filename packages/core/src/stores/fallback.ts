import type { Store, StoreReply, StoreRequest } from '../store.ts'
import { SluiceError, StoreError } from '../errors.ts'
import { memory } from './memory.ts'

/**
 * What to do when the store fails: let the request pass, refuse it, or hold it to the same policies
 * counted in this process's own memory.
 */
export type OnStoreError = 'allow' | 'deny' | 'local'

/** A store whose `check` is answered in its stead whenever it fails. `write` and `reset` still throw. */
export interface FallbackStore extends Store {
  /** Settles what was charged in the stead of the store. */
  readonly local: Pick<Store, 'settle'>
  /** Answers without asking a store that has just failed by `error`. */
  instead(request: StoreRequest, error: unknown): Promise<StoreReply>
}

/** A store that answers in the stead of `primary` whenever that one fails. */
export function withFallback(primary: Store, mode: OnStoreError): FallbackStore {
  const local = memory()

  async function instead(request: StoreRequest, error: unknown): Promise<StoreReply> {
    if (error instanceof SluiceError && !(error instanceof StoreError)) throw error
    const cause = error instanceof StoreError ? error.code : 'store_failed'
    const reply =
      mode === 'local'
        ? await local.check({ ...request, reads: [] })
        : { now: request.now, verdicts: [], places: [], read: [] }
    return { ...reply, degraded: { cause, mode } }
  }

  return {
    local,
    instead,
    async check(request) {
      try {
        const reply = await primary.check(request)
        if (reply.degraded || isWhole(reply, request)) return reply
        throw new StoreError('store_bad_reply', 'The store left out some of what it was asked')
      } catch (error) {
        return instead(request, error)
      }
    },
    settle: (request) => primary.settle(request),
    write: (...args) => primary.write(...args),
    async reset(keys) {
      await local.reset(keys)
      await primary.reset(keys)
    },
  }
}

function isWhole(
  { verdicts, places, read }: Partial<StoreReply>,
  { entries, reads }: StoreRequest,
): boolean {
  const isOfEach = [verdicts, places].every((list) => list?.length === entries.length)
  return isOfEach && verdicts?.every(Boolean) === true && (read ?? []).length === reads.length
}
