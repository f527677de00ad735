/* The signal of a call shows which limiter has charged it, so that none charges it twice. */
import type { Limiter } from '@sluice/core'

const charged = new WeakMap<AbortSignal, readonly Limiter[]>()

/** Returns a signal for sending a call that `limiter` has charged, aborted when `signal` is. */
export function chargedSignal(limiter: Limiter, signal: AbortSignal | undefined): AbortSignal {
  const own = signal ? AbortSignal.any([signal]) : new AbortController().signal
  charged.set(own, [...limitersOf(signal), limiter])
  return own
}

/** Returns true if `limiter` has charged the call that comes with `signal`. */
export const hasCharged = (limiter: Limiter, signal: AbortSignal | undefined): boolean =>
  limitersOf(signal).includes(limiter)

const limitersOf = (signal: AbortSignal | undefined): readonly Limiter[] =>
  (signal && charged.get(signal)) ?? []
