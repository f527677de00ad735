import type { AllowedDecision, DeniedDecision } from '../decision.ts'
import type { Limiter, PlanName } from '../limiter/limiter.ts'
import type { DecideCall, Outcome } from '../limiter/outcome.ts'
import type { ResolvedEntry } from '../limiter/resolve.ts'
import type { SettlementMark } from '../stores/store.ts'
import type { Subject } from '../subject.ts'
import type { FitRange } from './fit.ts'
import { runInBackground } from '../internal/background.ts'
import { invalidOption } from '../internal/validation.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { decide } from '../limiter/decide.ts'
import { grantedOf, withFit } from './fit-call.ts'
import { parseCall, type CheckOptions, type Choices } from '../limiter/call.ts'
import { runtimeOf, type LimiterRuntime } from '../limiter/runtime.ts'
import { keepingMark, LATE_MS, type Sweep, type Unsettled } from './mark.ts'
import { assertReservationId, chargeOf, markKey, type ReservationData } from './reservation-data.ts'
import { createReservation, type Reservation } from './reservation.ts'
import { explained } from './held.ts'
import { limitedToShare } from './max-share.ts'
import { settle } from './settle.ts'
import { settleWithRetry } from './settle-with-retry.ts'
import { settlementOf } from './settlements.ts'
import { startTelling, unansweredOf } from './telling.ts'

/** Options of one reservation. */
export interface ReserveOptions<Unit extends string = string> extends CheckOptions<Unit> {
  /** The time within which to settle. After it the estimate is final. @default '1h' */
  readonly settleWithin?: Duration | undefined
  /**
   * A range, created by `fitRange`, of which to grant the most that fits. `cost` is then the part of the
   * cost that does not depend on it. @default none
   */
  readonly fit?: FitRange<Unit> | undefined
  /**
   * `release()` gives everything back if the reservation is not settled within `settleWithin`.
   *
   * @default the estimate stays charged
   */
  readonly unsettled?: Unsettled | undefined
  /**
   * The largest share of any limit that this reservation may hold, such as `0.25`, in units other than
   * requests and calls. With a `fit`, no more is granted; a cost that is above it never fits. @default 1
   */
  readonly maxShare?: number | undefined
  /**
   * The id of the reservation, such as that of a job: 1 to 32 lower-case letters and digits, used once over all
   * tenants, so never one that a client has chosen. If the process dies before it has told anybody what it reserved,
   * `cancelById` gives it back. @default a new one
   */
  readonly id?: string | undefined
}

/**
 * The decision of `reserve`; if allowed, with the reservation. `JSON.stringify` of an allowed one is the
 * reservation's data (`toJSON`), without the decision.
 */
export type ReserveDecision<Unit extends string = string, Fit = undefined, List = undefined> =
  | (AllowedDecision &
      Reservation<Unit> &
      Granted<List extends Choices<string, infer Own> ? Own : Fit> &
      Chosen<List>)
  | (DeniedDecision & Chosen<List>)

/** The position of the choice that a decision is about, if the call had `choices`. */
type Chosen<List> = List extends Choices ? { readonly choice: number } : unknown

/** The quantity that was granted, if the call had a `fit`: from its floor to its most. */
export type Granted<Fit> = Fit extends FitRange ? { readonly granted: number } : unknown

/**
 * Checks and charges an estimate, to be settled when the real cost is known. If allowed, the decision has
 * `settle`, `cancel` and `toJSON`. One round trip.
 *
 * @throws InputError As `limiter.check` does; `invalid_reservation` when `id` is malformed.
 * @throws ConfigError `invalid_duration` when `settleWithin` is malformed.
 * @example
 * const call = await reserve(limiter, subject, { cost: { token: 2_000, usd: usd(0.01) } })
 * if (!call.allowed) return tooManyRequests(call)
 * const { usage } = await callModel()
 * await call.settle({ token: usage.total_tokens, usd: usd(0.004) })
 */
export async function reserve<
  Dimension extends string,
  Unit extends string,
  Plan extends string,
  const Literal extends string,
  Fit extends FitRange<NoInfer<Unit>> | undefined = undefined,
  List extends Choices<NoInfer<Unit>> | undefined = undefined,
>(
  limiter: Limiter<Dimension, Unit, Plan>,
  subject: Subject<NoInfer<Dimension>, PlanName<Literal, NoInfer<Plan>>>,
  options: ReserveOptions<NoInfer<Unit>> & { readonly fit?: Fit; readonly choices?: List } = {},
): Promise<ReserveDecision<Unit, Fit, List>> {
  const runtime = limitedToShare(runtimeOf(limiter), options.maxShare)
  const call = withFit(parseCall(subject, options, true, RESERVE_OPTIONS), options.fit, runtime)
  const settleWithinMs = durationMs('settleWithin', options.settleWithin ?? '1h')
  const { unsettled, id } = options
  if (id !== undefined) assertReservationId(id)
  if (unsettled !== undefined && typeof unsettled?.mark !== 'function') {
    throw invalidOption('unsettled', 'must be created by release', unsettled)
  }
  const decideCall: DecideCall = {
    ...call,
    id,
    holdMs: settleWithinMs,
    markFor: (ofMark, entries) => markOf(ofMark, entries, settleWithinMs, unsettled),
  }
  let outcome = await (runtime.wait ?? decide)(runtime, decideCall)
  const { retryAfterMs, reason, degraded } = outcome.decision
  if (unsettled && (retryAfterMs || reason === 'credits_exhausted') && !degraded) {
    // The slots of dead holders may be all that is missing.
    const swept = await releaseDue(unsettled, runtime, outcome.alternatives ?? [outcome], call)
    if (swept > 0) outcome = await (runtime.wait ?? decide)(runtime, decideCall)
  }
  outcome = explained(outcome, runtime)
  const { decision } = outcome
  // Only the last, as the caller gets it: a denial that is decided again is not the answer.
  runtime.seam?.report(runtime.events, outcome)
  const dataOf = (made: Outcome): ReservationData =>
    reservationData(made, decision.at + settleWithinMs, unsettled)
  const unanswered = decision.degraded ? outcome : outcome.unanswered
  const unheard = [...(unanswered?.unheard ?? [])]
  if (unanswered && !decision.allowed) unheard.unshift(unanswered)
  if (unheard.length > 0) {
    runInBackground(cancelUnheard(unheard.map(dataOf), runtime), call.waitUntil)
  }
  if (!decision.allowed) return decision as DeniedDecision & Chosen<List>
  if (unsettled && decision.choice) {
    // Better choices that dead holders have used up are free for the next call.
    const passedOver = outcome.alternatives?.slice(0, decision.choice) ?? []
    runInBackground(releaseDue(unsettled, runtime, passedOver, call), call.waitUntil)
  }
  const made = dataOf(outcome)
  const data = { ...made, origin: runtime.events.reserved?.(made, outcome) }
  const known = unansweredOf(runtime)
  // A sweep of this process must not tell of the release of a charge that nobody has heard of.
  if (unsettled && data.madeIn === 'nowhere') known.set(markKey(data.id), startTelling(true))
  const telling = startTelling(false, data)
  known.set(data.id, telling)
  const reserved = {
    ...createReservation<Unit>(data, runtime, telling),
    ...grantedOf(outcome),
  }
  return { ...decision, ...reserved }
}

/** Creates the mark of a reservation. */
function markOf(
  id: string,
  entries: readonly ResolvedEntry[],
  settleWithinMs: number,
  unsettled: Unsettled | undefined,
): SettlementMark {
  // A call in flight can be ended for as long as it holds its slot, even if its cost is final sooner. Units of a
  // balance that are held never become final by themselves.
  const times = entries.map(({ policy }) => {
    const { held, balance } = (settlementOf(policy), policy.algorithm.traits ?? {})
    return held ? policy.windowMs : balance ? settleWithinMs + LATE_MS : 0
  })
  const ttlMs = Math.max(settleWithinMs, ...times)
  return unsettled && entries.length > 0
    ? unsettled.mark(id, entries, settleWithinMs, ttlMs)
    : keepingMark(id, ttlMs)
}

/** Releases reservations that were not settled in time. Returns how many: 0 if the store fails, so the denial stands. */
async function releaseDue(
  unsettled: Unsettled,
  runtime: LimiterRuntime,
  outcomes: readonly Pick<Outcome, 'entries'>[],
  call: Sweep,
): Promise<number> {
  const lists = new Map(outcomes.map(({ entries }) => [unsettled.openKey(entries), entries]))
  let swept = 0
  try {
    for (const list of lists.values()) swept += await unsettled.sweep(runtime, list, call)
  } catch {
    // The denial stands, unless others were released.
  }
  return swept
}

/** Cancels what the store may have charged without an answer. Nobody has heard of it. */
async function cancelUnheard(
  reservations: readonly ReservationData[],
  runtime: LimiterRuntime,
): Promise<void> {
  for (const data of reservations) {
    const telling = startTelling(true)
    const { storeFailed } = await settleWithRetry(() => settle(data, runtime, () => 0, telling))
    if (!storeFailed) continue
    const message =
      'A reservation was denied without the store and not cancelled; its estimate may stay charged'
    runtime.events.problem({ code: 'reservation_lost', message })
    // Of choices, one was charged at most. More questions would feed the outage.
    return
  }
}

const RESERVE_OPTIONS = [
  'cost',
  'waitUntil',
  'choices',
  'settleWithin',
  'fit',
  'unsettled',
  'maxShare',
  'id',
]

/** Returns the reservation that a decision has made, as data. */
function reservationData(
  { id, decision, entries, reply }: Outcome,
  settleBy: number,
  unsettled: Unsettled | undefined,
): ReservationData {
  const { verdicts, degraded } = reply
  const isBlind = degraded !== undefined && (verdicts.length === 0 || !decision.allowed)
  const reserved = entries.filter(({ cost }, at) => isBlind || isReserved(verdicts[at], cost))
  // A decision without the store has not compared the cost with any limit.
  const charges = reserved.map((entry) =>
    chargeOf(entry, Math.min(entry.cost, entry.policy.maxUnits)),
  )
  const madeIn = isBlind ? 'nowhere' : degraded ? 'memory' : 'store'
  const openKey = charges.length > 0 ? unsettled?.openKey(entries) : undefined
  return { id, madeIn, settleBy, charges, ...(openKey && { openKey }) }
}

/** Returns true if the entry may be settled: charged, or let in at a cost of 0 that may turn out to be more. */
function isReserved(
  verdict: { readonly charged: boolean; readonly fits: boolean } | undefined,
  units: number,
): boolean {
  return verdict !== undefined && (verdict.charged || (units === 0 && verdict.fits))
}
