/* The function `waitFor`: a limiter whose requests wait until they fit. */
import { ConfigError } from '../errors.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { assertFunction, assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { decide } from '../limiter/decide.ts'
import { limiterOf, type Limiter } from '../limiter/limiter.ts'
import { runtimeOf, type LimiterRuntime } from '../limiter/runtime.ts'
import { isLine } from './longest-line.ts'
import { Wait, type WaitForOptions } from './wait.ts'

/** The longest time to wait. Longer waits are for a queue. */
const LONGEST_WAIT_MS = 300_000

/**
 * Returns a limiter whose `check`, reservations and adapters wait at most this long for what would be denied, if each
 * policy that denies it has a `waitingLine`. A longer wait is denied at once. `peek`, and a call with `choices`, never wait.
 *
 * A request that waits costs three calls to the store, and at most 12.
 *
 * @param wait From a second to 5 minutes.
 * @throws ConfigError When `wait` is malformed or out of range, an option is unknown, or no policy has a line.
 * @example
 * const patient = waitFor(limiter, '20s', { signal: request.signal })
 * const decision = await patient.check({ tenant: 'acme' })
 */
export function waitFor<Dimension extends string, Unit extends string, Plan extends string>(
  limiter: Limiter<Dimension, Unit, Plan>,
  wait: Duration,
  options: WaitForOptions = {},
): Limiter<Dimension, Unit, Plan> {
  assertKnownOptions('waitFor', options, ['signal', 'onWaited'])
  const { onWaited, signal } = options
  if (onWaited !== undefined) assertFunction('waitFor.onWaited', onWaited)
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw invalidOption('waitFor.signal', 'must be an AbortSignal', signal)
  }
  const waitMs = assertWait('waitFor.wait', wait)
  return limiterOf(waitingRuntime('waitFor', limiter, waitMs, options))
}

/**
 * Returns the runtime of a limiter whose requests wait. If they waited before, this wait takes the place of that.
 *
 * @throws ConfigError When no policy of it has a line.
 */
export function waitingRuntime(
  factory: string,
  limiter: object,
  waitMs: number,
  options: WaitForOptions,
): LimiterRuntime {
  const runtime = runtimeOf(limiter)
  if (runtime.program.policies.some(isLine)) {
    const wait: LimiterRuntime['wait'] = (given, call) =>
      // In one line, it would keep the place that another choice has free from those behind it.
      call.apply && !call.choices
        ? new Wait(given, call, waitMs, options).run()
        : decide(given, call)
    return { ...runtime, wait }
  }
  const message = 'must have a policy with a line: waitingLine(slidingWindow({ … }))'
  throw invalidOption(`${factory}.limiter`, message)
}

/** Returns a wait in milliseconds. @throws ConfigError Unless it is from a second to 5 minutes. */
export function assertWait(option: string, wait: unknown): number {
  const waitMs = durationMs(option, wait)
  if (waitMs >= 1_000 && waitMs <= LONGEST_WAIT_MS) return waitMs
  const message = 'must be from "1s" to "5m"; for longer waits, use a queue'
  throw new ConfigError('invalid_duration', option, message, wait)
}
