/* The function `adaptiveLimit`: an extension by which a limit follows what its upstream can do. */
import type { Extension } from '../limiter/extensions.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Bounds } from './adaptation.ts'
import { systemClock, type Clock } from '../clock.ts'
import type { ConfigError } from '../errors.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertName,
  assertPositiveInteger,
  invalidOption,
} from '../internal/validation.ts'
import { runInBackground } from '../internal/background.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import { Follower } from './follower.ts'
import { outcomeOfError, outcomeOfResult, type UpstreamCallOptions } from './outcome.ts'
import { Samples } from './samples.ts'

/** Options of `adaptiveLimit`. */
export interface AdaptiveLimitOptions {
  /** The name of the policy whose limit it is. That limit is the most. */
  readonly policy: string
  /** The least: what your upstream can do at its worst. A whole number from 1, below the policy's limit. */
  readonly min: number
}

/** A limit that follows an upstream. Created by `adaptiveLimit`. */
export interface AdaptiveLimit extends Extension {
  /** The present limit, as far as this isolate knows. */
  readonly limit: number
  /**
   * Makes a call to the upstream and returns its outcome unchanged. The limit learns how long it took, and whether it
   * failed: it threw, or its response has status 408, 425, 429 or 500 and above. A call that its caller gives up, and a
   * response with any other status from 400, say nothing. Pass the `signal` that the call has, if it has one.
   */
  observe<Result>(call: () => Promise<Result>, options?: UpstreamCallOptions): Promise<Result>
}

/** The longest window of a rate: a limit that falls takes a window to be kept. */
const MAX_WINDOW_MS = 2_000

/** The longest time for which a decision waits for the record: the store's own deadline. */
const MAX_WAIT_MS = 61_000

/**
 * Lets a limit follow its upstream, between `min` and the policy's own limit: it grows while answers are as fast as ever,
 * and falls to what the upstream can do when they become a tenth slower or one in twenty fails. All isolates share it, by
 * one record in the store: each reads it once a second along with a decision, and one of them writes it.
 *
 * Observe every call to the upstream, as close to it as you can: a response of your own limiter is no answer of the
 * upstream. Latency is the time until `call` resolves: for `fetch`, until the answer begins.
 *
 * @throws ConfigError When an option is unknown or out of range. `createLimiter` throws if the policy is missing, or has
 * no such limit.
 * @example
 * const model = adaptiveLimit({ policy: 'model-calls', min: 4 })
 * const limiter = createLimiter({
 *   store: upstash(),
 *   policies: [concurrency({ name: 'model-calls', limit: 200, per: 'global', maxDuration: '2m' })],
 *   extensions: [model],
 * })
 * const response = await model.observe(() => fetch(url))
 */
export function adaptiveLimit(options: AdaptiveLimitOptions): AdaptiveLimit {
  assertKnownOptions('adaptiveLimit', options, ['policy', 'min'])
  const name = assertName('adaptiveLimit.policy', options.policy)
  const min = assertPositiveInteger('adaptiveLimit.min', options.min)
  const samples = new Samples()
  let follower: Follower | undefined
  let clock: Clock = systemClock

  const extension = defineExtension({
    name: `adaptive.${name}`.slice(0, 64),
    connect(context) {
      const rule = context.policies.find((policy) => policy.name === name && !policy.follows)
      if (follower) {
        const message = 'must be in one limiter: make another for this one'
        throw invalidOption('extensions.adaptiveLimit', message, name)
      }
      const own = new Follower(context, ...assertFollows(rule, name, min), samples)
      follower = own
      clock = context.clock
      return {
        before: (call) => own.contribute(call),
        maxWaitMs: MAX_WAIT_MS,
        on: { decision: (event) => own.note(event) },
      }
    },
  })

  return Object.freeze({
    ...extension,
    get limit() {
      return follower?.limit ?? min
    },
    async observe<Result>(
      call: () => Promise<Result>,
      callOptions: UpstreamCallOptions = {},
    ): Promise<Result> {
      assertFunction('observe.call', call)
      assertKnownOptions('observe', callOptions, ['signal'])
      if (!follower) {
        const rule = `must have the adaptive limit of "${name}", as in createLimiter({ extensions: [limit] })`
        throw invalidOption('extensions', rule)
      }
      const startedAt = clock()
      const end = samples.begin(startedAt)
      try {
        const result = await call()
        end(clock() - startedAt, outcomeOfResult(result))
        return result
      } catch (error) {
        end(clock() - startedAt, outcomeOfError(error, callOptions))
        throw error
      } finally {
        runInBackground(follower.share())
      }
    },
  })
}

/** @throws ConfigError Unless the rule has one limit that can follow an upstream. */
function assertFollows(
  rule: PolicyRule | undefined,
  name: string,
  min: number,
): [rule: PolicyRule, bounds: Bounds] {
  if (!rule) throw invalid('policy', 'must be a policy of the limiter', name)
  const { limit, per, algorithm, windowMs, stripes } = rule
  const { slides: isRate = false, held } = algorithm.traits ?? {}
  if (!(isRate || held) || 'lease' in rule || stripes > 1 || per !== 'global') {
    const message = `must have the trait slides or held, as a concurrency, slidingWindow or slidingWindowCounter has, and per "global", neither leased nor in stripes`
    throw invalid('policy', message, name)
  }
  if (isRate && windowMs > MAX_WINDOW_MS) {
    const message = `must have a window of at most ${MAX_WINDOW_MS / 1_000} s, such as '1s': a limit that falls takes a window to be kept`
    throw invalid('policy', message, name)
  }
  if (typeof limit !== 'number') {
    throw invalid('policy', 'must have a number as its limit, which is the most', name)
  }
  if (min >= limit) throw invalid('min', `must be below ${limit}, the limit of "${name}"`, min)
  return [rule, { min, max: limit, isRate }]
}

const invalid = (option: string, rule: string, value: unknown): ConfigError =>
  invalidOption(`adaptiveLimit.${option}`, rule, value)
