/** The time now, in milliseconds since the Unix epoch. */
export type Clock = () => number

/** The clock of this machine. */
export const systemClock: Clock = () => Date.now()

/** A clock for tests that moves only on command. */
export interface ManualClock {
  (): number
  /** Moves the clock on by `ms` milliseconds. */
  advance(ms: number): void
  /** Sets the clock to `epochMs`, in milliseconds since the Unix epoch. */
  set(epochMs: number): void
}

/**
 * Creates a clock for tests. Pass it as `clock` to `createLimiter`, and move it by hand.
 *
 * @example
 * const clock = manualClock(Date.UTC(2026, 0, 31, 23, 59, 59, 999))
 * const limiter = createLimiter({ store: memory(), clock, policies })
 * clock.advance(1) // midnight
 */
export function manualClock(startMs: number): ManualClock {
  let now = startMs
  const clock = (): number => now
  return Object.assign(clock, {
    advance: (ms: number): void => void (now += ms),
    set: (epochMs: number): void => void (now = epochMs),
  })
}
