import type { LimiterRuntime } from '../limiter/runtime.ts'
import { SETTLED_MS, type Correction, type SettleResult } from './settle-request.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { systemClock } from '../clock.ts'
import { keyPrefix } from '../policies/rules.ts'
import { invalidReservation, markKey, type ReservationData } from './reservation-data.ts'
import { settleKind, settleOperation, type SettleKind } from './settle-operation.ts'
import { settlementOf } from './settlements.ts'
import {
  attemptAt,
  tell,
  unansweredOf,
  unitsMoved,
  type Attempt,
  type Moved,
  type Telling,
} from './telling.ts'

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
  /**
   * Units given back, by unit. Units that have left their window meanwhile are not. If it was settled
   * less than a minute before, the units that the first call reported as unused.
   */
  readonly returned: Readonly<Record<string, number>>
  /** Units charged beyond the estimate, by unit. */
  readonly overrun: Readonly<Record<string, number>>
  /**
   * True if the reservation was made without the store, and the store has failed again. It may still hold
   * the estimate, because only its reply may have been lost: settle once more. @default false
   */
  readonly storeFailed?: boolean
}

/** Returns the units really used of `unit`, of which `reserved` are charged. */
type ActualUnits = (unit: string, reserved: number) => number

/** Settles charges of every policy. */
export const SETTLE: SettleKind = settleKind(settlementOf)

/**
 * Settles a reservation: compares it with what was used, corrects the store, and reports the outcome.
 *
 * @param given The same for each attempt at one settlement.
 */
export async function settle(
  data: ReservationData,
  runtime: LimiterRuntime,
  actual: ActualUnits,
  given: Telling,
  isRelease = false,
): Promise<Settled> {
  const { program, store, clock, clockIsInjected } = runtime
  const { id, madeIn } = data
  if (data.charges.length === 0) return notApplied('nothing_charged')
  const unanswered = unansweredOf(runtime)
  const settlement = isRelease ? markKey(id) : id
  const telling = unanswered.get(settlement) ?? given
  let storeFailed = false
  const onFault = (): void => {
    storeFailed = true
    telling.since = Math.min(telling.since, clock())
    unanswered.set(settlement, telling)
  }
  const corrections = correctionsOf(data, runtime, actual)
  const attempt = attemptAt(telling, corrections)
  let inMemory: SettleResult | undefined
  // This process's memory runs it first.
  const noting: SettleKind = {
    ...SETTLE,
    run: (states, operation) => {
      const result = SETTLE.run(states, operation)
      inMemory ??= result
      return result
    },
  }
  const operation = settleOperation(madeIn === 'memory' ? noting : SETTLE, {
    policies: program.policies,
    corrections,
    id,
    mark: markKey(id),
    isLocal: madeIn !== 'store',
    openKey: data.openKey,
    isRelease,
    attempt: attempt.id,
    now: clock(),
    clockIsInjected,
    startedAt: systemClock(),
    onFault,
  })
  let result: SettleResult | undefined
  try {
    result = await store.run({ ...operation, near: data.charges.map(({ key }) => key) })
  } catch (error) {
    onFault()
    // A store that has never charged it may still be down.
    if (madeIn !== 'nowhere') throw error
  }
  if (!storeFailed) unanswered.delete(settlement)
  const replyWasLost = madeIn !== 'store' && result !== inMemory
  const settled = settledBy(result, data, runtime, telling, attempt, replyWasLost)
  return storeFailed ? { ...settled, storeFailed } : settled
}

/** Reports what the store, or the memory of this process, has done. */
function settledBy(
  result: SettleResult | undefined,
  data: ReservationData,
  runtime: LimiterRuntime,
  telling: Telling,
  { id, corrections }: Attempt,
  replyWasLost: boolean,
): Settled {
  if (result === undefined) return explainRefusal(data, runtime, telling)
  const { wasReleased } = result
  if ('before' in result) {
    const { before, attempt } = result
    const moved = unitsBefore(data, before, runtime)
    tell(data, runtime, telling, {
      id: attempt,
      wasReleased,
      replyWasLost,
      moved: before.size > 0 && moved,
    })
    return { ...notApplied('settled_before'), ...moved }
  }
  const moved = unitsMoved(
    corrections.map(({ policy }, index) => [policy.unit, result.applied[index] ?? 0]),
  )
  tell(data, runtime, telling, { id, wasReleased, replyWasLost, moved })
  return { applied: true, ...moved }
}

/** Returns the corrections of charges that differ from what was used, at most one for each key. */
export function correctionsOf(
  { id, charges, madeIn, openKey }: ReservationData,
  { program }: LimiterRuntime,
  actual: ActualUnits,
): Correction[] {
  const corrections: Correction[] = []
  for (const { policy: name, units: reserved, index: markIndex, times, ...charge } of charges) {
    const index = program.policies.findIndex((rule) => counts(rule, name, charge.key))
    const policy = program.policies[index]
    // It is gone, or counts in another way by now.
    if (policy === undefined) continue
    if (reserved > policy.maxUnits) throw invalidReservation()
    const { held, balance } = policy.algorithm.traits ?? {}
    const used = held ? 0 : actual(policy.unit, reserved)
    // The charge is unknown if the store's reply was lost, or if it may have been released.
    const isEqual = used === reserved && madeIn === 'store' && !openKey && !balance
    // Policies that share a key share its charge.
    if (isEqual || corrections.some(({ key }) => key === charge.key)) continue
    const { params } = policy
    const correction = { policy, index, markIndex, params, id, reserved, actual: used }
    corrections.push({ ...charge, ...times, ...correction })
  }
  return corrections
}

/** Returns true if a rule counts in the key of a charge. A balance stays, whatever its policy is called. */
const counts = (rule: PolicyRule, name: string, key: string): boolean =>
  (rule.name === name || rule.balance !== undefined) && key.startsWith(`${keyPrefix(rule)}:`)

/** Reports the reason for which the store found no mark. */
function explainRefusal(
  data: ReservationData,
  { clock, events }: LimiterRuntime,
  telling: Telling,
): Settled {
  const { madeIn, settleBy } = data
  const now = clock()
  if (!telling.isTold && now - telling.since >= SETTLED_MS) {
    const message =
      'A settlement without an answer was repeated too late to know whether it counts; usage has the estimate'
    events.problem({ code: 'reservation_lost', message })
  }
  // `cancelById` does not know whether there was one.
  if (madeIn === 'nowhere' || settleBy === Infinity) return notApplied('nothing_charged')
  if (now >= settleBy) {
    if (!telling.isTold) events.abandoned?.(data)
    telling.isTold = true
    return notApplied('too_late')
  }
  if (madeIn === 'store') return notApplied('settled_before')
  const message =
    'A reservation that was made without the store was settled in another process, or long ago; its estimate stays'
  events.problem({ code: 'reservation_lost', message })
  return notApplied('made_elsewhere')
}

const notApplied = (why: Settled['why'] & string): Settled => ({
  applied: false,
  why,
  returned: {},
  overrun: {},
})

/** Returns the units that the first settlement moved. */
function unitsBefore(
  { charges }: ReservationData,
  before: ReadonlyMap<number, number>,
  { program }: LimiterRuntime,
): Moved {
  return unitsMoved(
    charges.map(({ policy: name, key, index }) => {
      const policy = program.policies.find((rule) => counts(rule, name, key))
      return [policy?.unit ?? '', before.get(index) ?? 0]
    }),
  )
}
