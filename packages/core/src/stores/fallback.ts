import type { Degraded } from '../decision.ts'
import type { Entry, Operation, Store, StoreProblem, StoreReply, StoreRequest } from './store.ts'
import { SluiceError, StoreError } from '../errors.ts'
import { createMemory } from './memory.ts'
import { badReply, isDenied } from './store.ts'

/**
 * The decision while the store fails: allow every request, deny every request, or apply the same
 * policies to counts in this process's own memory, up to the whole of each limit or a share of it.
 */
export type OnStoreError = Degraded['mode'] | LocalShare

/** Created by `localShare`. Returns the entries to decide in this process's memory, or a mode. */
export type LocalShare = (request: StoreRequest) => readonly Entry[] | Degraded['mode']

/**
 * The default: local, except for money. Counted by each process, it would be spent many times, and it does
 * not come back.
 */
const localExceptMoney: LocalShare = ({ entries }) =>
  entries.some(({ enforced, policy }) => enforced && policy.unit === 'usd') ? 'deny' : 'local'

/**
 * The memory in which each open reservation was made while a store failed, by its mark, the oldest
 * first. Shared by all limiters of the process, because any of them may settle it.
 */
const localReservations = new Map<Operation<unknown>['localMark'], Store>()

/** The most reservations to remember. More are not expected to be open while a store is down. */
const MAX_LOCAL_RESERVATIONS = 10_000

/**
 * Wraps `primary`; when it fails to decide, decides according to `onStoreError`. Only `check` falls back:
 * `run` and `reset` throw.
 *
 * @param report Hears of each decision that is made without the store.
 */
export function withFallback(
  primary: Store,
  onStoreError: OnStoreError = localExceptMoney,
  report: (problem: StoreProblem) => void,
): Store {
  const local = createMemory()

  async function fallbackReply(request: StoreRequest, error: unknown): Promise<StoreReply> {
    const isOwn = error instanceof StoreError
    // Misuse is not a fault of the store.
    if (error instanceof SluiceError && !isOwn) throw error
    const { code, message } = isOwn ? error : new StoreError('store_failed', 'The store failed')
    const outcome = typeof onStoreError === 'function' ? onStoreError(request) : onStoreError
    const mode = typeof outcome === 'string' ? outcome : 'local'
    const means = mode === 'local' ? ': N processes allow N times as much' : ''
    report({
      code,
      message: `${message}. Meanwhile onStoreError is '${mode}'${means}`,
      ...(!isOwn && { error }),
    })
    const degraded = { cause: code, mode }
    if (mode !== 'local') {
      return { source: 'memory', now: request.now, verdicts: [], values: [], degraded }
    }
    const entries = typeof outcome === 'string' ? request.entries : outcome
    const reply = await local.check({ ...request, entries, reads: [] })
    const { mark } = request
    if (mark && !isDenied(entries, reply.verdicts)) {
      rememberReservation(mark.keys.at(-1) as string, local)
    }
    return { ...reply, degraded }
  }

  return {
    async check(request) {
      if (request.failure !== undefined) return fallbackReply(request, request.failure)
      try {
        const reply = await primary.check(request)
        if (reply.problem) report(reply.problem)
        if (reply.degraded || isComplete(reply, request)) return reply
        throw badReply()
      } catch (error) {
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
  const [oldest] = localReservations.keys()
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
