import type { Limiter } from '@sluice/core'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { refuse } from './errors.ts'

/** The record that is asked for: none has it. */
const NOTHING = { key: 'sluice-command', field: 'nothing' }

/** @throws CommandError When the store is the memory of this process, in which a change would end with it. */
export async function assertShared(limiter: Limiter): Promise<void> {
  const { store, program, clock, clockIsInjected } = runtimeOf(limiter)
  const { source, degraded } = await store.check({
    policies: program.policies,
    entries: [],
    apply: false,
    now: clock(),
    clockIsInjected,
    startedAt: Date.now(),
    reads: [NOTHING],
    id: '',
  })
  if (source !== 'memory' || degraded) return
  refuse(
    'the store is the memory of one process: a change made here would end with this command, and your app would not see it. Use a store that both share, such as upstash()',
  )
}
