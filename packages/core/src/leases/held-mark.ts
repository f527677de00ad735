/* The mark of a reservation of which leases have served a part: two twins that must agree. */
import type { Entry, MarkedCharge, SettlementMark } from '../stores/store.ts'
import type { LuaMarkKind } from '../lua/twins.ts'
import type { Served } from './lease-book.ts'
import { argument, LAST_KEY } from '../lua/expressions.ts'
import { NOTES, noteCharge } from '../reservations/mark.ts'

interface HeldData {
  readonly ttlMs: number
  readonly held: readonly MarkedCharge[]
}

/**
 * Notes what leases have served beside what the store charges, at a position that no charge has. So who settles it in
 * another process charges an overrun, and gives nothing back.
 */
export const HELD: LuaMarkKind<HeldData> = {
  name: 'held',
  write({ keys, data: { ttlMs, held } }, states, charges, now) {
    states.set(keys.at(-1) as string, { state: [...charges, ...held], expiresAt: now + ttlMs })
  },
  lua: {
    keyCount: 1,
    argCount: 2,
    args: ({ data: { ttlMs, held } }) => [
      String(ttlMs),
      held.map(({ index, units, position }) => `${index}=${units}:${position},`).join(''),
    ],
    note: noteCharge,
    write: (firstArg) =>
      `redis.call('SET', ${LAST_KEY}, (${NOTES} or '') .. ${argument(firstArg + 1)}, 'PX', ${argument(firstArg)})`,
  },
}

/** Creates the mark of a reservation of which leases serve these entries. */
export function heldMark(
  { keys, data: ttlMs }: SettlementMark<number>,
  entries: readonly Entry[],
  served: readonly Served[],
): SettlementMark<HeldData> {
  // With a `fit`, the units of its floor: the store has not granted more yet.
  const held = served.map(({ entry: { index } }) => ({
    index,
    units: entries.find((entry) => entry.index === index)?.cost ?? 0,
    position: 0,
  }))
  return { kind: HELD, keys, data: { ttlMs, held } }
}
