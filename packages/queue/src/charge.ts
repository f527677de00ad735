/* The charge of a job. Its reservation has an id made from the job's, so that another worker can give it back. */
import type { Cost, DeniedDecision, Limiter, Subject, WaitUntil } from '@sluice/core'
import { StoreError } from '@sluice/core'
import { slotRelease } from '@sluice/core/internal/http'
import { runtimeOf } from '@sluice/core/internal/limiter'
import {
  cancelById,
  reservation,
  reserve,
  settleWithRetry,
  unitNamesOf,
  type Charge,
  type Reservation,
} from '@sluice/core/reservations'

/** The time for which a job's reservation can be settled. Its end settles it long before. */
const SETTLE_WITHIN = '1d'

/** The most reservations of lost claims to give back. */
const MAX_CANCELLED = 8

/** The subject and cost of a job, and the ids of its reservations. */
export interface Charged {
  readonly limiter: Limiter
  readonly subject: Subject
  readonly cost: Cost | undefined
  /** Keeps background work running. @default none */
  readonly waitUntil?: WaitUntil
  /** Returns the id of the reservation of a claim. */
  readonly idOf: (claim: number) => Promise<string>
}

/** A claim of a job, and the reservations that earlier claims have left. */
export interface Claim {
  readonly claim: number
  /** The first claim that may have left a reservation that nobody knows. */
  readonly lostFrom: number
  /** The data of the reservation of an attempt that failed, or an empty text. */
  readonly held: string
  /** The store's time, if something is `held`. */
  readonly now?: number
}

/** The outcome of reserving for a job. */
export type Reserved =
  | { readonly isAllowed: true; readonly charge: JobCharge; readonly delayMs: number }
  | { readonly isAllowed: false; readonly decision: DeniedDecision }
  /** The store has failed, and may have charged it: who claims it next cancels that. */
  | { readonly isAllowed: undefined }

/** The charge of a job that runs. */
export interface JobCharge {
  /** Returns its settlement as text, for `settleOrEstimate`. Without `used`, the estimate is final. */
  settlement(used: Cost | undefined): string
  /** Gives back what this claim has reserved, and leaves what it has taken over to the next claim. */
  cancel(): Promise<void>
  /** Frees its calls in flight, and returns the rest as text, for the next attempt. */
  keep(): Promise<string>
}

/**
 * Reserves for a job. It first cancels the reservations of lost claims, and takes over that of a failed attempt, so that a
 * job is charged once. Without the limiter's store, no job begins.
 *
 * @throws StoreError When the store fails while something is given back.
 * @throws InputError, ConfigError When the subject or the cost is not the limiter's.
 */
export async function reserveJob(
  job: Charged,
  { claim, lostFrom, held, now = 0 }: Claim,
): Promise<Reserved> {
  const { limiter, subject, cost } = job
  for (const lost of toCancel(lostFrom, claim)) {
    const id = await job.idOf(lost)
    const { why } = await settleWithRetry(() => cancelById(limiter, subject, { id, cost }))
    // A claim that has reserved had given back before what those before it had left.
    if (why !== 'nothing_charged') break
  }
  const kept = held === '' ? undefined : await takeOver(limiter, held, now)
  // Its units are charged, but its calls in flight are over.
  if (kept && !slotRelease(limiter, kept.toJSON())) {
    return { isAllowed: true, charge: chargeOf(limiter, kept, undefined), delayMs: 0 }
  }
  const call = await reserve(limiter, subject, {
    id: await job.idOf(claim),
    cost: kept ? slotsOnly(limiter, cost) : cost,
    settleWithin: SETTLE_WITHIN,
    waitUntil: job.waitUntil,
  })
  if (!call.degraded) {
    if (!call.allowed) return { isAllowed: false, decision: call }
    return { isAllowed: true, charge: chargeOf(limiter, kept ?? call, call), delayMs: call.delayMs }
  }
  if (call.allowed) await call.cancel().catch(() => {})
  return { isAllowed: undefined }
}

/**
 * Returns the reservation of an attempt that failed. Once its time is over, the units of a balance may have come back, and be
 * spent elsewhere: then it gives back what is left, and returns `undefined`. Other estimates are final by then: they stay
 * charged once.
 */
async function takeOver(
  limiter: Limiter,
  held: string,
  now: number,
): Promise<Reservation | undefined> {
  const kept = reservation(limiter, held)
  const data = kept.toJSON()
  const { policies } = runtimeOf(limiter).program
  const isOfBalance = ({ policy }: Charge): boolean =>
    policies.some(({ name, balance }) => balance && name === policy)
  if (now < data.settleBy || !data.charges.some(isOfBalance)) return kept
  // A claim that is denied after it leaves the same to the next. That must not tell that the estimate is final.
  const ended = reservation(limiter, { ...data, settleBy: Number.MAX_SAFE_INTEGER })
  await settleWithRetry(() => ended.cancel())
  return undefined
}

/**
 * Returns the claims whose reservations to cancel, the last first: all, or the last and the first of many. In an outage of the
 * limiter's store only the first may have reserved: those after it have failed to cancel that.
 */
function toCancel(from: number, claim: number): number[] {
  const all = Array.from({ length: claim - from }, (_, at) => claim - 1 - at)
  return all.filter((_, at) => at < MAX_CANCELLED / 2 || at >= all.length - MAX_CANCELLED / 2)
}

/** Returns the cost of the calls in flight alone. */
function slotsOnly(limiter: Limiter, cost: Cost | undefined): Cost {
  const calls = typeof cost === 'object' ? cost.call : undefined
  const units = [...unitNamesOf(limiter)].map((unit) => [unit, 0])
  return { ...(Object.fromEntries(units) as Record<string, number>), call: calls ?? 1 }
}

/** @param own What this claim has reserved: `units`; calls in flight beside units that it has taken over; or nothing. */
function chargeOf(limiter: Limiter, units: Reservation, own: Reservation | undefined): JobCharge {
  const slots = own === units ? undefined : own
  return {
    settlement: (used = {}) => encodeSettlement({ used, units, slots }),
    async cancel() {
      if (own) await settleWithRetry(() => own.cancel())
    },
    async keep() {
      if (own) await slotRelease(limiter, own.toJSON())?.()
      return JSON.stringify(units)
    },
  }
}

interface Settlement {
  /** `null` if what a handler has returned is no JSON. */
  readonly used: Cost | null
  readonly units: unknown
  readonly slots?: unknown
}

function encodeSettlement(settlement: Settlement): string {
  try {
    return JSON.stringify(settlement)
  } catch {
    return JSON.stringify({ ...settlement, used: null })
  }
}

/**
 * Corrects the charge of a job that has run to what it used, and frees its calls in flight. To settle it again changes
 * nothing.
 *
 * @throws StoreError When the store fails.
 * @throws InputError When the handler has returned what is no cost: then the estimate is final.
 */
async function settleCharge(limiter: Limiter, settlement: string): Promise<void> {
  const { used, units, slots } = JSON.parse(settlement) as Settlement
  if (slots) await settleWithRetry(() => reservation(limiter, slots).settle({}))
  // It refuses null as what is no cost.
  await settleWithRetry(() => reservation(limiter, units).settle(used as Cost))
}

/**
 * Ends the charge of a failed attempt: at the units that it reports, or else at its estimate, which the next attempt takes
 * over. Returns the data of the reservation for that attempt. Calls `report` if the units are invalid.
 *
 * @throws StoreError When the store fails.
 */
export async function endFailed(
  limiter: Limiter,
  charge: JobCharge,
  used: Cost | undefined,
  report: (error: unknown) => void,
): Promise<string> {
  if (used !== undefined) {
    try {
      await settleCharge(limiter, charge.settlement(used))
      return ''
    } catch (error) {
      if (error instanceof StoreError) throw error
      report(error)
    }
  }
  return charge.keep()
}

/**
 * Corrects the charge of a job that has run as `settleCharge` does; if what it says that it used is no cost, the estimate
 * is final, and `report` is called.
 *
 * @throws StoreError When the store fails.
 */
export async function settleOrEstimate(
  limiter: Limiter,
  settlement: string,
  report: (error: unknown) => void,
): Promise<void> {
  try {
    await settleCharge(limiter, settlement)
  } catch (error) {
    if (error instanceof StoreError) throw error
    const { units, slots } = JSON.parse(settlement) as Settlement
    await settleCharge(limiter, encodeSettlement({ used: {}, units, slots }))
    report(error)
  }
}

/**
 * Returns a text as the id of a reservation.
 *
 * @param parts Such as the names of a queue and a job, and the number of a claim. Other parts make another id.
 */
export async function reservationId(...parts: readonly (string | number)[]): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(parts))
  const digest = await crypto.subtle.digest('SHA-256', text)
  const bytes = new Uint8Array(digest).slice(0, 16)
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
