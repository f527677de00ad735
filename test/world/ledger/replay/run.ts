import { vi } from 'vitest'
import type { State, World } from '../model/state.ts'
import type { Move } from '../model/steps.ts'
import { startBackend, type BackendName } from './backends.ts'
import { holdTimers } from './network.ts'
import type { Algorithm } from './product.ts'
import { Replay, type ReplayClock } from './replay.ts'

/** Lives through all paths with the product, by a clock that stands still between steps. */
export async function replayPaths(
  { world, first }: { readonly world: World; readonly first: State },
  paths: readonly (readonly Move[])[],
  name: BackendName,
  algorithm: Algorithm,
): Promise<string | undefined> {
  const clock: ReplayClock = { now: Date.UTC(2026, 0, 1) }
  const now = (): number => clock.now
  const backend = await startBackend(name, now)
  const spies = [vi.spyOn(Date, 'now'), vi.spyOn(performance, 'now')]
  for (const spy of spies) spy.mockImplementation(now)
  const giveTimersBack = holdTimers()
  try {
    const replay = new Replay(world, algorithm, backend, clock)
    for (const path of paths) {
      const difference = await replay.differenceIn(first, path)
      if (difference) return difference
    }
    return undefined
  } finally {
    giveTimersBack()
    for (const spy of spies) spy.mockRestore()
    await backend.close()
  }
}
