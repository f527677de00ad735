/* The function `upstreamBreaker`: answers in an upstream's place while it fails. */
import { Circuit, type Proof } from '../internal/circuit.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertPositiveInteger,
} from '../internal/validation.ts'
import {
  outcomeOfError,
  outcomeOfResult,
  type Outcome,
  type UpstreamCallOptions,
} from './outcome.ts'

/** The reason of a fallback. */
export interface FallbackReason {
  /** `'failed'`: this call has failed. `'open'`: it was not made, because those before it failed. */
  readonly cause: 'failed' | 'open'
  /** The response that failed, if there was one. Its body was discarded. */
  readonly response?: Response
  /** The error that was thrown, if one was. */
  readonly error?: unknown
}

/** Options of `upstreamBreaker`. */
export interface UpstreamBreakerOptions<Answer> {
  /** Makes the answer in the upstream's place: from a cache, or a simplified one. */
  readonly fallback: (reason: FallbackReason) => Answer | Promise<Answer>
  /** The consecutive failures of this isolate after which the upstream is not called. @default 5 */
  readonly failures?: number
  /** The pause in milliseconds, from 1 to 60,000, after each of which one call tries the upstream. @default 1_000 */
  readonly pauseMs?: number
  /** Called for each fallback, to count or log it. Its errors are logged, and change nothing. @default none */
  readonly onFallback?: (reason: FallbackReason) => void
}

/** Options of one call through a breaker. */
export interface BreakerCallOptions<Answer> extends UpstreamCallOptions {
  /** Makes the answer in the upstream's place for this call, such as from a cache. @default that of the breaker */
  readonly fallback?: UpstreamBreakerOptions<Answer>['fallback']
}

/** Numbers of this isolate, since it started. */
export interface UpstreamCounts {
  /** Calls made to the upstream. */
  readonly calls: number
  /** The calls that failed. */
  readonly failures: number
  /** Answers by the fallback. */
  readonly fallbacks: number
}

/** A breaker in front of an upstream. Created by `upstreamBreaker`. */
export interface UpstreamBreaker<Answer> {
  /** True while the upstream is not called, but for one try after each pause. */
  readonly isOpen: boolean
  readonly counts: UpstreamCounts
  /**
   * Makes a call, or answers by the fallback. The upstream has failed if the call throws, or its response has status 408,
   * 425, 429 or 500 and above. A response with any other status from 400 shows that it answers. A call that its caller
   * gives up, and a denial of your own limiter, say nothing about it. These are returned, or thrown on.
   */
  call<Result extends Answer>(
    make: () => Promise<Result>,
    options?: BreakerCallOptions<Answer>,
  ): Promise<Result | Answer>
}

/**
 * Answers by `fallback` when a call to an upstream fails, and stops calling it after `failures` consecutive ones. After
 * each `pauseMs` one call tries it, and its success ends the pause. The states are those of `breaker` around a store; each
 * isolate learns by itself.
 *
 * Put it around the limited call, so that a fallback takes no units: a model that was not called costs nothing.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * const model = upstreamBreaker({ fallback: () => Response.json({ answer: 'Please ask again in a minute.' }) })
 * const response = await model.call(() => fetch(url))
 */
export function upstreamBreaker<Answer>(
  options: UpstreamBreakerOptions<Answer>,
): UpstreamBreaker<Answer> {
  assertKnownOptions('upstreamBreaker', options, ['fallback', 'failures', 'pauseMs', 'onFallback'])
  const { failures = 5, pauseMs = 1_000 } = options
  const fallback = assertFunction('upstreamBreaker.fallback', options.fallback)
  const onFallback = assertFunction('upstreamBreaker.onFallback', options.onFallback ?? nothing)
  const circuit = new Circuit(
    assertPositiveInteger('upstreamBreaker.failures', failures),
    assertPositiveInteger('upstreamBreaker.pauseMs', pauseMs, 60_000),
  )
  const counts = { calls: 0, failures: 0, fallbacks: 0 }

  async function answerInstead(
    reason: FallbackReason,
    answer: UpstreamBreakerOptions<Answer>['fallback'] = fallback,
  ): Promise<Answer> {
    counts.fallbacks += 1
    // It may be async, and is not awaited.
    void (async () => onFallback(reason))().catch((error: unknown) => {
      console.error('Sluice: upstreamBreaker.onFallback failed:', error)
    })
    return answer(reason)
  }

  /** Returns true if the call has failed. */
  function learn(turn: number, outcome: Outcome): boolean {
    const hasFailed = outcome === 'failure'
    if (hasFailed) counts.failures += 1
    circuit.learn(turn, PROOFS[outcome])
    return hasFailed
  }

  return Object.freeze({
    get isOpen() {
      return circuit.opening !== undefined
    },
    get counts() {
      return { ...counts }
    },
    async call<Result extends Answer>(
      make: () => Promise<Result>,
      callOptions: BreakerCallOptions<Answer> = {},
    ): Promise<Result | Answer> {
      assertFunction('call.make', make)
      assertKnownOptions('call', callOptions, ['signal', 'fallback'])
      const instead = callOptions.fallback
      if (instead !== undefined) assertFunction('call.fallback', instead)
      if (!circuit.mayCall()) return answerInstead({ cause: 'open' }, instead)
      counts.calls += 1
      const { turn } = circuit
      let result: Result
      try {
        result = await make()
      } catch (error) {
        if (!learn(turn, outcomeOfError(error, callOptions))) throw error
        return answerInstead({ cause: 'failed', error }, instead)
      }
      if (!learn(turn, outcomeOfResult(result))) return result
      const response = result as unknown as Response
      // Otherwise its connection stays open.
      void response.body?.cancel().catch(() => {})
      return answerInstead({ cause: 'failed', response }, instead)
    },
  })
}

const PROOFS: Readonly<Record<Outcome, Proof>> = {
  success: 'answers',
  refusal: 'answers',
  failure: { failure: 'upstream' },
  none: 'none',
}

const nothing = (): void => {}
