import type { Clock } from '../clock.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import type { Records } from './extensions.ts'
import { systemClock } from '../clock.ts'

/** The records of a store, for extensions. */
export function recordsOf(store: Store, policies: readonly PolicyRule[], clock: Clock): Records {
  return {
    async read(reads, startedAt = systemClock()) {
      const request = { policies, entries: [], apply: false, now: clock(), clockIsInjected: false }
      return (await store.check({ ...request, id: '', startedAt, reads })).read
    },
    write: (writes, condition, startedAt = systemClock()) =>
      store.write({ writes, condition, now: clock(), startedAt }),
    remove: (keys) => store.reset(keys),
  }
}
