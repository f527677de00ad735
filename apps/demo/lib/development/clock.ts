const shared = globalThis as { sluiceDemoClockAheadMs?: number }

/** Returns the milliseconds that the demo's clock is ahead. */
const aheadMs = (): number => shared.sluiceDemoClockAheadMs ?? 0

/**
 * The clock of the chat's limiter while scenarios are on: the machine's, moved ahead by the scenario
 * "Midnight". Without scenarios the store's own clock counts.
 */
export const demoClock =
  process.env['DEMO_CONTROLS'] === 'on' ? { clock: () => Date.now() + aheadMs() } : {}

/** Moves the demo's clock to a number of milliseconds before the next midnight in UTC. */
export function moveBeforeMidnight(ms: number): void {
  const now = Date.now() + aheadMs()
  const midnight = new Date(now).setUTCHours(24, 0, 0, 0)
  shared.sluiceDemoClockAheadMs = aheadMs() + midnight - ms - now
}

/** Returns true if the demo's clock is ahead of the machine's. */
export const isClockAhead = (): boolean => aheadMs() > 0

/** Sets the demo's clock to the machine's. */
export function restoreClock(): void {
  shared.sluiceDemoClockAheadMs = 0
}
