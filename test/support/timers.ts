import { vi } from 'vitest'

/**
 * Runs fake timers until work has settled, and those that are pending then, once. Not `vi.runAllTimersAsync`: a limiter of
 * another test in this process, whose store is gone, sends its usage again and again.
 */
export async function runTimersUntil(work: Promise<unknown>): Promise<void> {
  let isDone = false
  const done = (): void => void (isDone = true)
  void work.then(done, done)
  while (!isDone) await vi.advanceTimersToNextTimerAsync()
  await vi.runOnlyPendingTimersAsync()
}
