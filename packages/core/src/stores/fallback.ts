import type { Store, StoreReply, StoreRequest } from './store.ts'
import { SluiceError, StoreError } from '../errors.ts'
import { memory } from './memory.ts'
import { isDenied } from './store.ts'

/**
 * What to do when the store fails: let the request pass, refuse it, or hold it to the same policies
 * counted in this process's own memory.
 */
export type OnStoreError = 'allow' | 'deny' | 'local'

/**
 * Where open reservations were made while a store failed, by their marks: any limiter of this process
 * may settle them. The oldest first.
 */
const madeHere = new Map<string, Store>()

/** More are not expected to be open while a store is down. */
const MAX_OPEN = 10_000

/**
 * Wraps `primary`; when it fails to decide, decides according to `mode`. Only decisions have a
 * stand-in: `run` and `reset` still throw.
 */
export function withFallback(primary: Store, mode: OnStoreError): Store {
  const local = memory()

  async function fallbackReply(request: StoreRequest, error: unknown): Promise<StoreReply> {
    const cause = error instanceof StoreError ? error.code : 'store_failed'
    const degraded = { cause, mode }
    if (mode !== 'local') {
      return { source: 'memory', now: request.now, verdicts: [], read: [], degraded }
    }
    const reply = await local.check({ ...request, reads: [] })
    const { mark, entries } = request
    if (mark && !isDenied(entries, reply.verdicts)) remember(mark.key, local)
    return { ...reply, degraded }
  }

  return {
    async check(request) {
      if (request.failure !== undefined) return fallbackReply(request, request.failure)
      try {
        const reply = await primary.check(request)
        if (reply.degraded || isWhole(reply, request)) return reply
        throw new StoreError('store_bad_reply', 'The store left out some of what it was asked')
      } catch (error) {
        if (error instanceof SluiceError && !(error instanceof StoreError)) throw error
        return fallbackReply(request, error)
      }
    },

    run(operation) {
      const { localMark } = operation
      return ((localMark && madeHere.get(localMark)) || primary).run(operation)
    },

    async reset(keys) {
      await local.reset(keys)
      await primary.reset(keys)
    },
  }
}

function remember(mark: string, store: Store): void {
  madeHere.set(mark, store)
  const [oldest = mark] = madeHere.keys()
  if (madeHere.size > MAX_OPEN) madeHere.delete(oldest)
}

function isWhole(
  { verdicts, read }: Partial<StoreReply>,
  { entries, reads }: StoreRequest,
): boolean {
  return (
    verdicts?.length === entries.length &&
    verdicts.every(Boolean) &&
    (read ?? []).length === reads.length
  )
}
