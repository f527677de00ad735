import type { Account } from './find-credits.ts'
import { systemClock } from '../clock.ts'
import { READ, type StoredAccount } from './read.ts'

/** Reads an account as it is stored. With `everything`, the journal and the ids of grants, too. */
export function readAccount(
  { runtime, key, idsKey }: Account,
  everything: boolean,
): Promise<StoredAccount> {
  const { store, clock, clockIsInjected } = runtime
  return store.run({
    kind: READ,
    keys: [key, idsKey],
    data: { now: clock(), clockIsInjected, everything },
    startedAt: systemClock(),
  })
}
