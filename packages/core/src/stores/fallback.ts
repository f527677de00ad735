import type { SettleRequest, Store, StoreReply, StoreRequest } from './store.ts'
import { SluiceError, StoreError } from '../errors.ts'
import { memory } from './memory.ts'

/**
 * What to do when the store fails: let the request pass, refuse it, or hold it to the same policies
 * counted in this process's own memory.
 */
export type OnStoreError = 'allow' | 'deny' | 'local'

/** Open reservations that were made in the memory of this process, by id; the oldest first. */
const madeHere = new Map<string, Store>()

/** More are not expected to be open while a store is down. */
const MAX_OPEN = 10_000

/**
 * Wraps `primary`; when it fails to decide, decides according to `mode`. Only decisions have a
 * stand-in: `write`, `reset` and settling what `primary` charged still throw.
 */
export function withFallback(primary: Store, mode: OnStoreError): Store {
  const local = memory()

  async function fallbackReply(request: StoreRequest, error: unknown): Promise<StoreReply> {
    if (error instanceof SluiceError && !(error instanceof StoreError)) throw error
    const cause = error instanceof StoreError ? error.code : 'store_failed'
    const degraded = { cause, mode }
    if (mode !== 'local') {
      return { source: 'memory', now: request.now, verdicts: [], read: [], degraded }
    }
    const reply = await local.check({ ...request, reads: [] })
    if (request.mark) remember(request.mark.key, local)
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
        return fallbackReply(request, error)
      }
    },

    async settle(request) {
      if (request.source !== 'memory' || !madeHere.has(request.mark)) return primary.settle(request)
      const [applied] = await Promise.all([
        madeHere.get(request.mark)?.settle(request),
        freeSlots(primary, request),
      ])
      madeHere.delete(request.mark)
      return applied
    },

    write: (request) => primary.write(request),

    async reset(keys) {
      await local.reset(keys)
      await primary.reset(keys)
    },
  }
}

function remember(mark: string, store: Store): void {
  madeHere.set(mark, store)
  for (const oldest of madeHere.keys()) {
    if (madeHere.size <= MAX_OPEN) break
    madeHere.delete(oldest)
  }
}

/**
 * Frees calls in flight in a store that had failed: it may have let them in, and lost only its reply.
 * If not, it has no mark of them and does nothing. Where it fails again, they come free by themselves.
 */
async function freeSlots(primary: Store, request: SettleRequest): Promise<void> {
  const charges = request.charges.filter(({ policy }) => policy.algorithm.released)
  if (charges.length > 0) await primary.settle({ ...request, charges }).catch(() => undefined)
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
