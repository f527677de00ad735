/* The records of keys in the store of a limiter: one for each key, and for each tenant the list of its keys. */
import type { Limiter } from '../limiter/limiter.ts'
import type { RecordField } from '../stores/store.ts'
import { StoreError } from '../errors.ts'
import { createRecords, type Records } from '../limiter/records.ts'
import { runtimeOf } from '../limiter/runtime.ts'

/** Where keys are kept. */
export interface KeyRecords extends Pick<Records, 'write' | 'remove'> {
  /** Epoch ms. */
  readonly clock: () => number
  /** Reads fields. @throws StoreError When the store fails. */
  read(fields: readonly RecordField[]): Promise<readonly (string | undefined)[]>
}

/** Returns the records of a limiter. @throws ConfigError When `createLimiter` did not create it. */
export function keyRecords(limiter: Limiter): KeyRecords {
  const runtime = runtimeOf(limiter)
  const { store, clock, clockIsInjected, program } = runtime
  const records = createRecords(runtime, program.policies, clock)
  return {
    clock,
    write: (...args) => records.write(...args),
    remove: (keys) => records.remove(keys),
    async read(reads) {
      const reply = await store.check({
        policies: program.policies,
        entries: [],
        apply: false,
        now: clock(),
        clockIsInjected,
        startedAt: Date.now(),
        reads,
        id: '',
      })
      // A limiter's store answers without them when it fails, and has said why.
      if (reply.degraded) throw new StoreError(reply.degraded.cause, 'Keys cannot be read')
      return reply.values
    },
  }
}
