import type { WaitUntil } from '../internal/background.ts'
import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { ResolvedEntry } from '../limiter/resolve.ts'
import type { LuaMarkKind } from '../lua/twins.ts'
import type { SettlementMark } from '../stores/store.ts'
import type { Subject } from '../subject.ts'
import { argument, LAST_KEY } from '../lua/expressions.ts'
import { markKey } from './reservation-data.ts'

/** The call that finds reservations to release. */
export interface Sweep {
  readonly subject: Subject
  readonly waitUntil: WaitUntil | undefined
}

/** The treatment of a reservation that is not settled in time. Created by `release`. */
export interface Unsettled {
  /** Creates the mark of a reservation. */
  mark(
    id: string,
    entries: readonly ResolvedEntry[],
    settleWithinMs: number,
    ttlMs: number,
  ): SettlementMark
  /** Returns the key of the list of open reservations. */
  openKey(entries: readonly ResolvedEntry[]): string
  /** Releases the reservations of the list of these entries that were not settled in time. Returns their number. */
  sweep(runtime: LimiterRuntime, entries: readonly ResolvedEntry[], call: Sweep): Promise<number>
}

/** The time for which a late settlement still finds its mark, in milliseconds: a day. */
export const LATE_MS = 86_400_000

/** The notes of a decision's charges, which are no part of its answer: a text, or nil before the first. */
export const NOTES = 'reply.mark'

/** Lua that notes a charge of `cost` units. */
export const noteCharge: LuaMarkKind['lua']['note'] = (index, position) =>
  `${NOTES} = (${NOTES} or '') .. string.format('${index}=%.0f:%.0f,', cost, ${position})`

/** Lua that writes the notes into the mark, for so many milliseconds. */
export const writeMark = (ttl: string): string =>
  `redis.call('SET', ${LAST_KEY}, ${NOTES} or '', 'PX', ${ttl})`

/** The mark of a reservation whose estimate stays charged if it is not settled, for so many milliseconds. */
export const KEPT: LuaMarkKind<number> = {
  name: 'keep',
  write({ keys, data: ttlMs }, states, charges, now) {
    states.set(keys.at(-1) as string, { state: charges, expiresAt: now + ttlMs })
  },
  lua: {
    keyCount: 1,
    argCount: 1,
    args: ({ data: ttlMs }) => [String(ttlMs)],
    note: noteCharge,
    write: (firstArg) => writeMark(argument(firstArg)),
  },
}

/** Creates the mark of a reservation whose estimate stays charged if it is not settled. */
export const keepingMark = (id: string, ttlMs: number): SettlementMark<number> => ({
  kind: KEPT,
  keys: [markKey(id)],
  data: ttlMs,
})

/** Returns true if a mark was created by `keepingMark`. Its data is the time for which it may be settled, in milliseconds. */
export const isKept = (mark: SettlementMark | undefined): mark is SettlementMark<number> =>
  mark?.kind === KEPT
