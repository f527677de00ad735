import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { Store } from '../stores/store.ts'
import type { Correction, SettleRequest } from './settle-operation.ts'
import { systemClock } from '../clock.ts'
import { keyPrefix } from '../policies/rules.ts'
import { invalidReservation, markKey, type ReservationData } from './reservation-data.ts'
import { settleOperation } from './settle-operation.ts'
import { settlementOf } from './settlements.ts'

/** The outcome of settling a reservation. */
export interface Settled {
  /** True if this call settled the reservation. */
  readonly applied: boolean
  /**
   * The reason why it did not: nothing was charged; the reservation was settled before; it came too
   * late, so the estimate is final; or the reservation was made while the store failed, in another
   * process, and only that one can settle it.
   */
  readonly why?: 'nothing_charged' | 'settled_before' | 'too_late' | 'made_elsewhere'
  /** Units given back, by unit. Units that have left their window meanwhile are not. */
  readonly returned: Readonly<Record<string, number>>
  /** Units charged beyond the estimate, by unit. */
  readonly overrun: Readonly<Record<string, number>>
}

/** Returns the units really used of `unit`, of which `reserved` are charged. */
type ActualUnits = (unit: string, reserved: number) => number

/** Settles a reservation: compares it with what was used, corrects the store, and reports the outcome. */
export async function settle(
  data: ReservationData,
  runtime: LimiterRuntime,
  actual: ActualUnits,
): Promise<Settled> {
  const { program, store, clock, clockIsInjected, events } = runtime
  const { id, local } = data
  // No policy took part, or the decision was made without counting.
  if (data.charges.length === 0) return notApplied('nothing_charged')
  const corrections = correctionsOf(data, runtime, actual)
  const request: SettleRequest = {
    policies: program.policies,
    corrections,
    id,
    mark: markKey(id),
    local,
    now: clock(),
    clockIsInjected,
    startedAt: systemClock(),
  }
  const [applied] = await Promise.all([
    store.run(settleOperation(request)),
    local ? freeSlots(store, request) : undefined,
  ])
  if (applied === undefined) return explainRefusal(data, runtime)
  const settled = { applied: true, ...unitsMoved(corrections, applied) }
  events.settled?.({ id, returned: settled.returned, overrun: settled.overrun })
  return settled
}

/** Returns the corrections of charges that differ from what was used, at most one for each key. */
export function correctionsOf(
  { id, charges }: ReservationData,
  { program }: LimiterRuntime,
  actual: ActualUnits,
): Correction[] {
  const corrections: Correction[] = []
  for (const { policy: name, units: reserved, ...charge } of charges) {
    const index = program.policies.findIndex((candidate) => candidate.name === name)
    const policy = program.policies[index]
    // The policy is gone, or counts in another way by now.
    if (policy === undefined || !charge.key.startsWith(`${keyPrefix(policy)}:`)) continue
    if (reserved > policy.maxUnits) throw invalidReservation()
    const used = settlementOf(policy).released ? 0 : actual(policy.unit, reserved)
    // Policies that share a key share its charge.
    if (used === reserved || corrections.some(({ key }) => key === charge.key)) continue
    corrections.push({
      ...charge,
      policy,
      index,
      params: policy.params,
      id,
      reserved,
      actual: used,
    })
  }
  return corrections
}

/** Reports the reason for which the store found no mark. */
function explainRefusal(
  { id, local, settleBy }: ReservationData,
  { clock, events }: LimiterRuntime,
): Settled {
  if (clock() > settleBy) {
    events.abandoned?.({ id })
    return notApplied('too_late')
  }
  if (!local) return notApplied('settled_before')
  const message =
    'A reservation that was made without the store was settled in another process, or twice; its estimate stays'
  events.problem({ code: 'reservation_lost', message })
  return notApplied('made_elsewhere')
}

/**
 * Frees calls in flight in a store that had failed: it may have charged them, and lost only its reply. If
 * not, it has no mark of them and does nothing. If it fails again, they come free by themselves.
 */
async function freeSlots(store: Store, request: SettleRequest): Promise<void> {
  const corrections = request.corrections.filter(({ policy }) => settlementOf(policy).released)
  if (corrections.length === 0) return
  const operation = settleOperation({ ...request, corrections, local: false })
  await store.run(operation).catch(() => undefined)
}

const notApplied = (why: Settled['why'] & string): Settled => ({
  applied: false,
  why,
  returned: {},
  overrun: {},
})

/** Returns the units given back and charged, by unit: the largest number if policies of one unit differ. */
function unitsMoved(
  corrections: readonly Correction[],
  applied: readonly number[],
): Pick<Settled, 'returned' | 'overrun'> {
  const returned: Record<string, number> = {}
  const overrun: Record<string, number> = {}
  for (const [index, { policy }] of corrections.entries()) {
    const units = applied[index] ?? 0
    const totals = units < 0 ? returned : overrun
    if (units !== 0) totals[policy.unit] = Math.max(totals[policy.unit] ?? 0, Math.abs(units))
  }
  return { returned, overrun }
}
