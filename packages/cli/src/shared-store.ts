import type { Limiter, StoreReply } from '@sluice/core'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { refuse } from './errors.ts'

/** Asks the store of a limiter for a record, as a decision about nothing does. */
export function readOnce(limiter: Limiter, key: string): Promise<StoreReply> {
  const { store, program, clock, clockIsInjected } = runtimeOf(limiter)
  const nothing = { policies: program.policies, entries: [], apply: false, id: '' }
  const times = { now: clock(), clockIsInjected, startedAt: Date.now() }
  return store.check({ ...nothing, ...times, reads: [{ key, field: 'at' }] })
}

/** @throws CommandError When the store is the memory of this process, in which a change would end with it. */
export async function assertShared(limiter: Limiter): Promise<void> {
  const { source, degraded } = await readOnce(limiter, 'sluice-command')
  if (source !== 'memory' || degraded) return
  refuse(
    'the store is the memory of one process: a change made here would end with this command, and your app would not see it. Use a store that both share, such as upstash()',
  )
}
