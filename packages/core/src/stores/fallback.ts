import type { Degraded } from '../decision.ts'
import type { Entry, Operation, Store, StoreProblem, StoreReply, StoreRequest } from './store.ts'
import { SluiceError, StoreError, type StoreErrorCode } from '../errors.ts'
import { createMemory } from './memory-store.ts'
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

/** A store has failed, or answers again. */
type StoreReport = Omit<StoreProblem, 'code'> & {
  readonly code: StoreErrorCode | 'store_recovered'
}

interface Outage {
  readonly since: number
  readonly place: string | undefined
  readonly origin: string | undefined
}

/**
 * Wraps `primary`; when it fails to decide, decides according to `onStoreError`. Only `check` falls back:
 * `run` and `reset` throw.
 *
 * @param report Called for each decision that is made without the store, and for the first after these that the
 * store has made.
 */
export function withFallback(
  primary: Store,
  onStoreError: OnStoreError = localExceptMoney,
  report: (problem: StoreReport) => void,
): Store {
  const local = createMemory()
  /** Set from the first decision without the store, or without one of its places, until that has made one. */
  let outage: Outage | undefined

  async function fallbackReply(request: StoreRequest, error: unknown): Promise<StoreReply> {
    const isOwn = error instanceof StoreError
    // Misuse is not a fault of the store.
    if (error instanceof SluiceError && !isOwn) throw error
    const { code, message, place, origin } = isOwn
      ? error
      : new StoreError('store_failed', 'The store failed')
    const outcome = typeof onStoreError === 'function' ? onStoreError(request) : onStoreError
    const mode = typeof outcome === 'string' ? outcome : 'local'
    // Records alone, such as an API key, are no decision.
    const end = request.entries.length > 0 ? `. onStoreError is '${mode}'` : ''
    const problem = { code, message: message + end, place }
    outage ??= { since: request.now, place, origin }
    report(isOwn ? problem : { ...problem, error })
    const entries = typeof outcome === 'string' ? request.entries : outcome
    const reply: StoreReply =
      mode === 'local'
        ? await decideLocally(local, { ...request, entries, reads: [] })
        : { source: 'memory', now: request.now, verdicts: [], values: [] }
    return { ...reply, place: origin, degraded: { cause: code, mode } }
  }

  return {
    async check(request) {
      if (request.failure !== undefined) return fallbackReply(request, request.failure)
      const known = outage
      try {
        const reply = await primary.check(request)
        if (reply.problem) {
          outage ??= { since: request.now, place: undefined, origin: reply.place }
          report(reply.problem)
        }
        if (!reply.degraded) {
          if (!isComplete(reply, request)) throw badReply()
          // The answer to a request from before the outage does not prove that it has ended.
          const isOver = known && known === outage && isFromStore(reply)
          if (isOver && reply.place === (known.origin ?? reply.place)) {
            outage = undefined
            const seconds = Math.max(1, Math.ceil((request.now - known.since) / 1_000))
            const message = `${known.place ?? 'The store'} is back after ${seconds} s`
            report({ code: 'store_recovered', message })
          }
        }
        return reply
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

/** Decides in memory, and remembers a reservation that is made there. */
async function decideLocally(local: Store, request: StoreRequest): Promise<StoreReply> {
  const reply = await local.check(request)
  const { mark, entries } = request
  if (mark && !isDenied(entries, reply.verdicts)) {
    localReservations.set(mark.keys.at(-1), local)
    const [oldest] = localReservations.keys()
    if (localReservations.size > MAX_LOCAL_RESERVATIONS) localReservations.delete(oldest)
  }
  return reply
}

/** Returns false if a store around the store has decided by itself. */
const isFromStore = ({ source }: StoreReply): boolean => source !== 'cache' && source !== 'lease'

/** Returns true if the reply answers every entry and every read. A custom store may not. Of a choice, the kind has made it. */
function isComplete(
  { verdicts, values, choice }: Partial<StoreReply>,
  { entries, reads }: StoreRequest,
): boolean {
  return (
    (choice !== undefined || verdicts?.length === entries.length) &&
    verdicts?.every(Boolean) === true &&
    (values ?? []).length === reads.length
  )
}
