import type { Operation, Store, StoreReply, StoreRequest } from './store.ts'
import { ConfigError, SluiceError, StoreError } from '../errors.ts'
import { memory } from './memory.ts'
import { isDenied } from './store.ts'

/**
 * The decision while the store fails: allow every request, deny every request, or apply the same
 * policies to counts in this process's own memory.
 */
export type OnStoreError = 'allow' | 'deny' | 'local'

/**
 * The memory in which each open reservation was made while a store failed, by its mark, the oldest
 * first. Shared by all limiters of the process, because any of them may settle it.
 */
const localReservations = new Map<Operation<unknown>['localMark'], Store>()

/** The most reservations to remember. More are not expected to be open while a store is down. */
const MAX_LOCAL_RESERVATIONS = 10_000

/**
 * Wraps `primary`; when it fails to decide, decides according to `mode`. Only `check` falls back: `run`
 * and `reset` throw.
 */
export function withFallback(primary: Store, mode: OnStoreError): Store {
  const local = memory()

  async function fallbackReply(request: StoreRequest, error: unknown): Promise<StoreReply> {
    // Also if an extension has found it, by reading the store before the decision.
    if (error instanceof ConfigError && error.code === 'missing_credentials') throw error
    const cause = error instanceof StoreError ? error.code : 'store_failed'
    const degraded = { cause, mode }
    if (mode !== 'local') {
      return { source: 'memory', now: request.now, verdicts: [], values: [], degraded }
    }
    const reply = await local.check({ ...request, reads: [] })
    const { mark, entries } = request
    if (mark && !isDenied(entries, reply.verdicts))
      rememberReservation(mark.keys.at(-1) ?? '', local)
    return { ...reply, degraded }
  }

  return {
    async check(request) {
      if (request.failure !== undefined) return fallbackReply(request, request.failure)
      try {
        const reply = await primary.check(request)
        if (reply.degraded || isComplete(reply, request)) return reply
        throw new StoreError('store_bad_reply', 'The store sent an incomplete reply')
      } catch (error) {
        // Misuse is not a fault of the store.
        if (error instanceof SluiceError && !(error instanceof StoreError)) throw error
        return fallbackReply(request, error)
      }
    },

    async run(operation) {
      const memoryOfIt = localReservations.get(operation.localMark)
      if (!memoryOfIt) return primary.run(operation)
      // The store may have charged it, too, and only its reply was lost.
      const inMemory = await memoryOfIt.run(operation)
      return (await primary.run(operation).catch(operation.onFault)) ?? inMemory
    },

    async reset(keys) {
      await local.reset(keys)
      await primary.reset(keys)
    },
  }
}

function rememberReservation(mark: string, store: Store): void {
  localReservations.set(mark, store)
  const [oldest = mark] = localReservations.keys()
  if (localReservations.size > MAX_LOCAL_RESERVATIONS) localReservations.delete(oldest)
}

/** Returns true if the reply answers every entry and every read. A custom store may not. */
function isComplete(
  { verdicts, values }: Partial<StoreReply>,
  { entries, reads }: StoreRequest,
): boolean {
  return (
    verdicts?.length === entries.length &&
    verdicts.every(Boolean) &&
    (values ?? []).length === reads.length
  )
}
