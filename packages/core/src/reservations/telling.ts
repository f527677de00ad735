/* Tells the listeners of a limiter of each settlement once, whichever replies are lost. */
import type { LimiterEvents } from '../limiter/events.ts'
import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { ReservationData } from './reservation-data.ts'
import type { Correction } from './settle-request.ts'
import { requestId } from '../internal/random-id.ts'

/** An attempt to settle. It leaves its id in the mark, which tells that it was made if its reply is lost. */
export interface Attempt {
  readonly id: string
  readonly corrections: readonly Correction[]
}

/** A settlement as one process knows it, however often it is attempted. */
export interface Telling {
  /** True once listeners have heard of it, or if they must not: they have not heard of the charge. */
  isTold: boolean
  /** By what they are to charge. */
  readonly attempts: Map<string, Attempt>
  /** The time of the first attempt without an answer. */
  since: number
  /** The reservation, if it was made here. */
  readonly open: ReservationData | undefined
}

export const startTelling = (isTold = false, open?: ReservationData): Telling => ({
  isTold,
  open,
  attempts: new Map(),
  since: Infinity,
})

/** The most settlements to remember. Listeners may not hear of older ones. */
const MAX_UNANSWERED = 10_000

/** The settlements of each limiter that are to come or have no answer yet, the oldest first. */
const unanswered = new WeakMap<object, Map<string, Telling>>()

/** Returns the settlements of a limiter that are to come or have no answer yet. */
export function unansweredOf({ events }: LimiterRuntime): Map<string, Telling> {
  const known = unanswered.get(events) ?? new Map<string, Telling>()
  unanswered.set(events, known)
  if (known.size > MAX_UNANSWERED) known.delete(known.keys().next().value as string)
  return known
}

/** Returns the attempt to charge this: the same if it is repeated. */
export function attemptAt({ attempts }: Telling, corrections: readonly Correction[]): Attempt {
  const outcome = corrections.map(({ markIndex, actual }) => `${markIndex}:${actual}`).join()
  const attempt = attempts.get(outcome) ?? { id: requestId(), corrections }
  attempts.set(outcome, attempt)
  return attempt
}

/** A settlement that was made. */
interface Made extends Pick<LimiterEvents['settled'], 'wasReleased' | 'replyWasLost'> {
  /** The id of the attempt that has made it. */
  readonly id: string
  /** The units that it has moved. False if that is not known: all that it was to move. */
  readonly moved: Moved | false
}

/** Emits `settled` if one of these attempts has made a settlement, and nobody has heard of it. */
export function tell(
  data: ReservationData,
  { events }: LimiterRuntime,
  telling: Telling,
  { id, moved, ...facts }: Made,
): void {
  const made = [...telling.attempts.values()].find((attempt) => attempt.id === id)
  if (!made || telling.isTold || !events.settled) return
  telling.isTold = true
  // Of a charge that nobody knew of, listeners hear as if its estimate had been 0: all that was used is charged now.
  const heard = data.madeIn === 'nowhere' ? 0 : 1
  const charges = data.charges.map(({ policy, units }) => ({ policy, units: units * heard }))
  const corrections = made.corrections.map(({ policy, reserved, actual }) => ({
    policy,
    reserved: reserved * heard,
    actual,
  }))
  const differences = corrections.map(
    ({ policy, reserved, actual }) => [policy.unit, actual - reserved] as const,
  )
  const units = (heard && moved) || unitsMoved(differences)
  events.settled({ ...data, ...units, charges, corrections, ...facts })
}

/** Units given back and charged, by unit. */
export type Moved = Pick<LimiterEvents['settled'], 'returned' | 'overrun'>

/** Returns the units given back and charged, by unit: the largest number if policies of one unit differ. */
export function unitsMoved(changes: readonly (readonly [unit: string, units: number])[]): Moved {
  const returned: Record<string, number> = {}
  const overrun: Record<string, number> = {}
  for (const [unit, units] of changes) {
    const totals = units < 0 ? returned : overrun
    if (units !== 0) totals[unit] = Math.max(totals[unit] ?? 0, Math.abs(units))
  }
  return { returned, overrun }
}
