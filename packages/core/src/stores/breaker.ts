/* The function `breaker`: a store around a store that stops calling it for a while after failures in a row. */
import { SluiceError, StoreError, type StoreErrorCode } from '../errors.ts'
import { Circuit, type Proof } from '../internal/circuit.ts'
import { assertKnownOptions, assertPositiveInteger, invalidOption } from '../internal/validation.ts'
import { sharedRequests } from '../internal/shared-failures.ts'
import { answersAlone, noteWrapper } from '../internal/wrappers.ts'
import { assertStore, decisionsOf, type StateMap, type Store } from './store.ts'

/** Options of `breaker`. */
export interface BreakerOptions {
  /** The consecutive failures of this isolate after which the store is not called. @default 5 */
  readonly failures?: number
  /**
   * The pause in milliseconds, from 1 to 60,000. After each pause one call tries the store. Choose at least the
   * store's `timeoutMs`: a try that has not come back after a pause is followed by the next. @default 1_000
   */
  readonly pauseMs?: number
}

/** The most reservations to remember that were not sent. More are not expected to be open in an outage. */
const MAX_UNSENT = 10_000

/** Errors that do not say that the store fails: it answers, or it was not asked. */
const PROOFS: Readonly<Partial<Record<StoreErrorCode, 'answers' | 'unasked'>>> = {
  store_refused: 'answers',
  store_conflict: 'answers',
  store_moved: 'answers',
  store_paused: 'unasked',
}

const NO_STATES: StateMap = { get: () => undefined, set: () => {} }

/**
 * Wraps `store` so that after `failures` consecutive failures it is not called: each decision is made at once
 * by the limiter's `onStoreError`, with the cause `store_paused`. After each `pauseMs` one call tries the
 * store, and its success ends the pause. `reset`, and every operation except a settlement, throws
 * `store_paused` meanwhile. It counts the failures of this isolate only, by the clock of this machine. See
 * `docs/failure-modes.md`.
 *
 * Wrap the store itself, or a batched one: `leased(cacheDenials(breaker(batched(upstash()))))`.
 *
 * @throws ConfigError When an option is unknown or out of range, or `store` is no store, or a wrapper that
 * belongs around the breaker.
 * @example
 * const store = breaker(upstash(), { failures: 5, pauseMs: 1_000 })
 * const limiter = createLimiter({ store, policies })
 */
export function breaker(store: Store, options: BreakerOptions = {}): Store {
  assertPlace(store)
  assertKnownOptions('breaker', options, ['failures', 'pauseMs'])
  const { failures = 5, pauseMs = 1_000 } = options
  const circuit = new Circuit(
    assertPositiveInteger('breaker.failures', failures),
    assertPositiveInteger('breaker.pauseMs', pauseMs, 60_000),
  )
  /** The settlement marks of reservations that were not sent. */
  const unsent = new Set<string | undefined>()
  /** The requests whose failure is counted: it is one, however many calls shared the request. */
  const counted = new WeakSet<object>()

  /** Calls the store, and learns from the outcome. @param isProbe False if a failure must not put the next probe off. */
  async function call<T>(ask: () => Promise<T>, isProbe?: boolean): Promise<T> {
    const { turn } = circuit
    try {
      const result = await ask()
      circuit.learn(turn, 'answers')
      return result
    } catch (error) {
      const request = sharedRequests.get(error as object) ?? {}
      const proof = proofOf(error)
      // If the store was not asked, the next call would not be asked either, so the pause goes on.
      if (proof !== 'unasked' && !counted.has(request)) circuit.learn(turn, proof, isProbe)
      counted.add(request)
      throw error
    }
  }

  return noteWrapper<Store>({
    timeoutMs: store.timeoutMs,
    accept: store.accept?.bind(store),
    async check(request) {
      const { entries, startedAt } = request
      if (circuit.mayCall(startedAt, entries.length === 0)) {
        return call(() => store.check(request))
      }
      for (const { mark } of decisionsOf(request)) if (mark) unsent.add(mark.keys.at(-1))
      while (unsent.size > MAX_UNSENT) unsent.delete(unsent.values().next().value)
      throw pausedError(circuit)
    },

    async run(operation) {
      const { kind, localMark } = operation
      // The store holds nothing of a reservation that was not sent, and need not be asked.
      if (localMark !== undefined && unsent.has(localMark)) return kind.run(NO_STATES, operation)
      // A settlement that is lost costs money, and no decision waits for it.
      const isCorrection = kind.settles || kind.correctsCharges
      if (!isCorrection && !circuit.mayCall()) throw pausedError(circuit)
      return call(() => store.run(operation), !isCorrection)
    },

    async reset(keys) {
      if (!circuit.mayCall()) throw pausedError(circuit)
      return call(() => store.reset(keys))
    },
  })
}

function proofOf(error: unknown): Proof | 'unasked' {
  if (!(error instanceof StoreError)) {
    // Misuse says nothing about the store.
    return error instanceof SluiceError ? 'unasked' : { failure: 'store_failed' }
  }
  const { code, status } = error
  // A refusal with a status is not from Redis but from a service or a proxy in front of it.
  return (status === undefined && PROOFS[code]) || { failure: code }
}

/** Creates the error of a call that may not be made. */
function pausedError({ opening, failures, pauseMs }: Circuit): StoreError {
  const { at = 0, failure = '' } = opening ?? {}
  return new StoreError(
    'store_paused',
    `The store is not called: the breaker opened at ${new Date(at).toISOString()} (consecutive failures: ${failures}, the last ${failure}). One call every ${pauseMs} ms tries the store`,
  )
}

/** Throws if `store` is none, or a wrapper that would not answer from its memory while the breaker is open. */
function assertPlace(store: Store): void {
  if (!answersAlone(assertStore('breaker.store', store))) return
  const rule =
    'must be the store itself or a batched one; wrap the breaker, as in leased(cacheDenials(breaker(batched(upstash()))))'
  throw invalidOption('breaker.store', rule)
}
