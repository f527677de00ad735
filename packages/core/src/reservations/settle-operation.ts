import type { MarkedCharge, Operation, StateMap } from '../stores/store.ts'
import type { LuaOperationKind } from '../lua/twins.ts'
import type { SettledBefore, SettlementOf, SettleRequest, SettleResult } from './settle-request.ts'
import { RELEASED_MS, SETTLED_MS } from './settle-request.ts'
import { settlingLua } from './settle-lua.ts'

/** A kind of operation that settles. */
export type SettleKind = LuaOperationKind<SettleResult | undefined, SettleRequest>

/** Creates the kind of operation that settles charges of policies with these twins. */
export const settleKind = (settlementOf: SettlementOf): SettleKind => ({
  name: 'settle',
  settles: true,
  run: (states, { data }) => settleInMemory(states, data, settlementOf),
  lua: settlingLua(settlementOf),
})

/**
 * Creates the operation that corrects the charges of a mark, and leaves in the mark what it has done. Its result
 * is `undefined` if there was no mark and nothing was done.
 */
export function settleOperation(
  kind: SettleKind,
  {
    startedAt,
    onFault,
    ...data
  }: SettleRequest & { readonly startedAt: number; readonly onFault: () => void },
): Operation<SettleResult | undefined, SettleRequest> {
  const { mark, corrections, openKey, isLocal } = data
  // The script takes keys in the order of the policies. The charges may have another order.
  const inOrder = corrections.toSorted((a, b) => a.index - b.index)
  return {
    kind,
    keys: [mark, ...inOrder.map(({ key }) => key), ...(openKey ? [openKey] : [])],
    data,
    startedAt,
    localMark: isLocal ? mark : undefined,
    onFault,
  }
}

/** Open reservations by id, as a store in memory keeps them. */
interface OpenList {
  readonly open: Map<string, unknown>
}

/** A mark: the charges, or the settlement or release that has replaced them. */
type Marked = readonly MarkedCharge[] | (SettledBefore & { readonly isRelease: boolean })

function settleInMemory(
  states: StateMap,
  { mark, corrections, now, id, openKey, isRelease, attempt }: SettleRequest,
  settlementOf: SettlementOf,
): SettleResult | undefined {
  const list = openKey && (states.get(openKey, now) as OpenList | undefined)
  if (list) list.open.delete(id)
  const marked = states.get(mark, now) as Marked | undefined
  if (marked === undefined) return undefined
  const wasReleased = 'before' in marked
  if (wasReleased && (isRelease || !marked.isRelease)) return marked
  const applied: number[] = []
  let hasChanged = false
  try {
    for (const correction of corrections) {
      const { key, policy, markIndex, actual } = correction
      const charge = wasReleased ? undefined : marked.find(({ index }) => index === markIndex)
      const { units: reserved, position } = charge ?? { units: 0, position: 0 }
      const settlement = { ...correction, reserved, position }
      const isBalance = policy.algorithm.traits?.balance ?? false
      const corrected =
        reserved === actual && !isBalance
          ? undefined
          : settlementOf(policy).settle(states.get(key, now) as never, settlement, now)
      if (corrected) states.set(key, corrected)
      applied.push(corrected?.applied ?? 0)
      // A balance counts also what was used as estimated.
      hasChanged ||= isBalance || applied.at(-1) !== 0
    }
  } finally {
    // If one fails, the others must not be made a second time. If nothing was corrected, it can be settled again.
    if (applied.length === corrections.length || hasChanged) {
      const before = new Map(corrections.map(({ markIndex }, at) => [markIndex, applied[at] ?? 0]))
      states.set(mark, {
        state: { before, attempt, wasReleased, isRelease },
        expiresAt: now + (isRelease ? RELEASED_MS : SETTLED_MS),
        isSpent: !isRelease,
      })
    }
  }
  return { applied, wasReleased }
}
