import type { SettlementTwins } from '../algorithms/algorithm.ts'
import type { Entry, Store, StoreRequest } from '../stores/store.ts'
import { systemClock } from '../clock.ts'
import { markKey } from '../reservations/reservation-data.ts'
import { settleKind, settleOperation } from '../reservations/settle-operation.ts'

/** Corrects charges of leased policies. `lease` has put the twins of a rule beside its algorithm. */
const CORRECT = settleKind(({ algorithm }) => algorithm.settlement as SettlementTwins)

/** The charge of one policy, and what it should be. */
interface Corrected {
  readonly entry: Entry
  readonly reserved: number
  readonly actual: number
}

/** Corrects what a request has charged, once. */
export async function correctCharges(
  store: Store,
  { id, now, clockIsInjected }: Pick<StoreRequest, 'id' | 'now' | 'clockIsInjected'>,
  charges: readonly Corrected[],
  startedAt: number = systemClock(),
): Promise<void> {
  const corrections = charges.map(({ entry, reserved, actual }, index) => {
    // Its other numbers, too: those of a calendar.
    return { ...entry, index, markIndex: entry.index, id, reserved, actual }
  })
  await store.run(
    settleOperation(CORRECT, {
      policies: corrections.map(({ policy }) => policy),
      corrections,
      id,
      mark: markKey(id),
      isLocal: false,
      isRelease: false,
      attempt: '',
      now,
      clockIsInjected,
      startedAt,
      onFault: () => {},
    }),
  )
}
