/* The function `batched`: a store around a store in Redis that makes the decisions of one moment in one script call. */
import type { Operation, Store, StoreReply, StoreRequest } from '../store.ts'
import { alternativesOf, assertStore } from '../store.ts'
import { RedisError } from './transport.ts'
import { endOfTurn } from '../../internal/end-of-turn.ts'
import { sharesPromises } from '../../internal/runtime.ts'
import {
  assertKnownOptions,
  assertPositiveInteger,
  invalidOption,
} from '../../internal/validation.ts'
import { sharedRequests } from '../../internal/shared-failures.ts'
import { isWrapper, notePassingWrapper } from '../../internal/wrappers.ts'
import { batchScript } from './batch-script.ts'
import { joinCalls } from '../../lua/joined-calls.ts'
import { parseCheckReply, scriptName } from '../../lua/call.ts'
import { decidingScript } from '../../lua/program.ts'
import type { LuaOperationKind } from '../../lua/twins.ts'

/** Options of `batched`. */
export interface BatchedOptions {
  /**
   * The most decisions of one script call, at most 128. Redis does nothing else while it makes them, and this
   * process has nothing to do while it waits for all of them. @default 32
   */
  readonly maxDecisions?: number
}

/** A request that waits for the reply to its batch. */
interface Waiting {
  readonly request: StoreRequest
  readonly place: string | undefined
  readonly resolve: (reply: StoreReply) => void
  readonly reject: (error: unknown) => void
}

/** The requests of one moment to the same script. */
interface Batch {
  readonly startedAt: number
  readonly waiting: Waiting[]
  entries: number
}

/** The most entries of one call, each with a key of some 200 bytes at most. */
const MAX_ENTRIES = 256

/** Decisions that began further apart do not share a deadline. In milliseconds. */
const MAX_SPREAD_MS = 20

/**
 * Wraps a store in Redis so that concurrent decisions of this process share a script call, which reads and
 * writes a key once for all of them. They are decided one after another, in the order of their checks. A check by
 * itself is sent at once, as always; while a call is under way, checks that begin in the same turn of the event loop
 * share the next. Each has its own reply or error, and none is sent twice. In a runtime that is no server process, such
 * as Cloudflare Workers, each check is sent by itself. See `docs/fewer-trips.md`.
 *
 * @throws ConfigError When an option is unknown or out of range, or `store` is no store.
 * @example
 * const store = batched(upstash())
 */
export function batched(store: Store, options: BatchedOptions = {}): Store {
  assertInnermost(store)
  assertKnownOptions('batched', options, ['maxDecisions'])
  const most = assertPositiveInteger('batched.maxDecisions', options.maxDecisions ?? 32, 128)
  const batches = new Map<string, Batch>()
  /** The calls that have no reply yet. */
  let underWay = 0

  /** Sends a batch, unless it was sent before because it was full. */
  function flush(name: string, batch: Batch): void {
    if (batches.get(name) !== batch) return
    batches.delete(name)
    underWay += 1
    void send(store, batch.waiting).finally(() => (underWay -= 1))
  }

  /** Returns the batch that has room for a request, or a new one. */
  function batchFor(name: string, { entries, startedAt }: StoreRequest): Batch {
    const open = batches.get(name)
    if (open) {
      const hasRoom = open.entries + entries.length <= MAX_ENTRIES
      if (hasRoom && Math.abs(startedAt - open.startedAt) <= MAX_SPREAD_MS) return open
      flush(name, open)
    }
    const batch: Batch = { startedAt, waiting: [], entries: 0 }
    batches.set(name, batch)
    // A check by itself has nobody to wait for.
    const end = underWay > 0 ? endOfTurn() : Promise.resolve()
    void end.then(() => flush(name, batch))
    return batch
  }

  return notePassingWrapper<Store>({
    timeoutMs: store.timeoutMs,
    accept: store.accept?.bind(store),
    placeOf: store.placeOf?.bind(store),
    check(request) {
      const place = store.placeOf?.(request)
      const spansPlaces = store.placeOf !== undefined && place === undefined
      if (!sharesPromises() || spansPlaces || alternativesOf(request)) return store.check(request)
      return new Promise((resolve, reject) => {
        const name = `${scriptName(request)} ${place}`
        const batch = batchFor(name, request)
        batch.waiting.push({ request, place, resolve, reject })
        batch.entries += request.entries.length
        if (batch.waiting.length === most) flush(name, batch)
      })
    },
    run: (operation) => store.run(operation),
    reset: (keys) => store.reset(keys),
  })
}

/** Throws if `store` is none, or one that must see each request. */
function assertInnermost(store: Store): void {
  if (!isWrapper(assertStore('batched.store', store))) return
  const rule =
    'must be the store in Redis itself; wrap the batched one, as in cacheDenials(batched(upstash()))'
  throw invalidOption('batched.store', rule)
}

/** Sends requests in one call. A request by itself, or to a store without scripts, is sent as always. */
async function send(store: Store, waiting: readonly Waiting[]): Promise<void> {
  try {
    const requests = waiting.map(({ request }) => request)
    const answers = waiting.length > 1 ? await store.run(decideAll(requests)) : undefined
    if (answers === undefined) {
      const checks = waiting.map((one) => store.check(one.request).then(one.resolve, one.reject))
      await Promise.all(checks)
      return
    }
    for (const [index, { request, place, resolve, reject }] of waiting.entries()) {
      try {
        resolve({ ...replyOf(answers[index], request), place })
      } catch (error) {
        reject(error)
      }
    }
  } catch (error) {
    if (!sharedRequests.has(error as object)) sharedRequests.set(Object(error) as object, waiting)
    for (const { reject } of waiting) reject(error)
  }
}

/** The operation that makes several decisions of one script. */
const decideAll = (requests: readonly StoreRequest[]): Operation<Answers, Batched> => {
  // A check that has waited for something else may join others that began after it.
  const startedAt = Math.min(...requests.map((request) => request.startedAt))
  const { keys, args } = joinCalls(requests)
  return { kind: DECIDE_ALL, keys, data: { requests, args }, startedAt }
}

/** An answer for each request, or `undefined` of a store without scripts, which decides each by itself. */
type Answers = readonly unknown[] | undefined

interface Batched {
  readonly requests: readonly StoreRequest[]
  readonly args: readonly string[]
}

const DECIDE_ALL: LuaOperationKind<Answers, Batched> = {
  name: 'batch',
  run: () => undefined,
  lua: {
    shape: ({ requests }) => scriptName(requests[0] as StoreRequest),
    script: ({ requests }) => batchScript(decidingScript(requests[0] as StoreRequest)),
    args: ({ args }) => args,
    parse: (reply, { requests }) =>
      Array.isArray(reply) && reply.length === requests.length ? { result: reply } : undefined,
  },
}

/** Returns the reply to one of several requests, whose answer may be the text of an error. */
function replyOf(answer: unknown, request: StoreRequest): StoreReply {
  if (typeof answer !== 'string') return parseCheckReply(answer, request)
  throw new RedisError(answer)
}
