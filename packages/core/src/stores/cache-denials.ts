/* The function `cacheDenials`: a store around a store that denies again what the store has just denied. */
import { SluiceError, StoreError } from '../errors.ts'
import { assertKnownOptions, assertPositiveInteger } from '../internal/validation.ts'
import { noteWrapper } from '../internal/wrappers.ts'
import { clockOf, DenialMemory } from './denial-memory.ts'
import {
  alternativesOf,
  assertStore,
  decisionsOf,
  type Store,
  type StoreProblem,
  type StoreReply,
  type StoreRequest,
} from './store.ts'

/** Options of `cacheDenials`. */
export interface CacheDenialsOptions {
  /**
   * The longest time, in milliseconds, to deny without the store. Units that come back early by another
   * process (a settlement, a reset) are seen after this time at the latest. @default 5_000
   */
  readonly maxAgeMs?: number
  /** The most partitions to remember. Past that, those not used lately are dropped. @default 10_000 */
  readonly maxPartitions?: number
}

/**
 * Wraps `store` so that a partition that it has denied is denied in this process until its retry time,
 * without a call. Larger costs are denied too; smaller ones, and other policies, are not. Denials by
 * `concurrency` and `fairShare` are never kept. A partition is forgotten when its counts are reset or settled in this
 * process, or its limit changes. While the store fails, what it has denied stays denied until the retry
 * time; these decisions are degraded. See `docs/fewer-trips.md`.
 *
 * @throws ConfigError When an option is unknown or out of range, or `store` is no store.
 * @example
 * const limiter = createLimiter({ store: cacheDenials(upstash()), policies })
 */
export function cacheDenials(store: Store, options: CacheDenialsOptions = {}): Store {
  assertKnownOptions('cacheDenials', options, ['maxAgeMs', 'maxPartitions'])
  const { maxAgeMs: maxAge = 5_000, maxPartitions: max = 10_000 } = options
  const maxAgeMs = assertPositiveInteger('cacheDenials.maxAgeMs', maxAge)
  const denials = new DenialMemory(
    maxAgeMs,
    assertPositiveInteger('cacheDenials.maxPartitions', max, 1_000_000),
  )
  assertStore('cacheDenials.store', store)

  function find(request: StoreRequest, now: number, hasFailed: boolean): StoreReply | undefined {
    const look = (one: StoreRequest): StoreReply | undefined => denials.find(one, now, hasFailed)
    const alternatives = alternativesOf(request)
    return alternatives ? alternatives.kind.known(request, look) : look(request)
  }

  function learn(request: StoreRequest, reply: StoreReply, sentAt: number, changes: number): void {
    const { alternatives } = request
    if (!alternatives || !reply.tried) return denials.learn(request, reply, sentAt, changes)
    for (const [at, verdicts] of reply.tried.entries()) {
      // From this memory itself, it would stay in it for good.
      if (alternatives.denied.has(at)) continue
      const one = { ...request, ...alternatives.all[at] }
      denials.learn(one, { ...reply, verdicts }, sentAt, changes)
    }
  }

  async function ask(request: StoreRequest, sentAt: number): Promise<StoreReply> {
    const { changes } = denials
    try {
      const reply = await store.check(request)
      learn(request, reply, sentAt, changes)
      return reply
    } catch (error) {
      const problem = problemOf(error)
      const denial = problem && find(request, clockOf(request), true)
      if (denial) return { ...denial, degraded: { cause: problem.code, mode: 'local' }, problem }
      if (problem && request.apply) decisionsOf(request).forEach((one) => denials.useUp(one))
      throw error
    }
  }

  return noteWrapper<Store>({
    accept: store.accept?.bind(store),
    check(request) {
      const { now } = request
      // A peek asks for the present state, and records have to be read.
      const canAnswer = request.apply && request.reads.length === 0
      const denial = canAnswer && find(request, now, false)
      return denial ? Promise.resolve(denial) : ask(request, now)
    },

    // Forgotten even if it fails, because it may have been done.
    run: (operation) => store.run(operation).finally(() => denials.forget(operation.keys)),
    reset: (keys) => store.reset(keys).finally(() => denials.forget(keys)),
  })
}

/** Returns the failure to report, or `undefined` if the error is misuse. */
function problemOf(error: unknown): StoreProblem | undefined {
  const means = 'Meanwhile cacheDenials denies what the store has denied'
  if (error instanceof StoreError) {
    return { code: error.code, message: `${error.message}. ${means}` }
  }
  if (error instanceof SluiceError) return undefined
  return { code: 'store_failed', message: `The store failed. ${means}`, error }
}
