import { vi } from 'vitest'

/**
 * Runs fake timers until work has settled, and those that are pending then, once. Not `vi.runAllTimersAsync`: a limiter of
 * another test in this process, whose store is gone, sends its usage again and again.
 */
export async function runTimersUntil(work: Promise<unknown>): Promise<void> {
  const settled = work.then(
    () => true,
    () => true,
  )
  const isDone = (): Promise<boolean> =>
    Promise.race([settled, vi.advanceTimersToNextTimerAsync().then(() => false)])
  for (let done = false; !done;) done = await isDone()
  await vi.runOnlyPendingTimersAsync()
}
