import type { Decision } from '../decision.ts'
import type { CheckOptions } from '../limiter/call.ts'
import type { Limiter, PlanName } from '../limiter/limiter.ts'
import type { Outcome } from '../limiter/decide.ts'
import type { Subject } from '../subject.ts'
import type { Charge, Reservation, ReservationData } from './reservation.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { decide } from '../limiter/decide.ts'
import { parseCall } from '../limiter/call.ts'
import { runtimeOf } from '../limiter/runtime.ts'
import { markKey, reservationOf } from './reservation.ts'
import { settlementOf } from './settlements.ts'

/** Options of one reservation. */
export interface ReserveOptions<Unit extends string = string> extends CheckOptions<Unit> {
  /** For how long it can be settled; then the estimate is final. @default '1h' */
  readonly settleWithin?: Duration | undefined
}

/**
 * The decision of `reserve`: if allowed, with the reservation. `JSON.stringify` makes of an allowed one
 * the reservation alone (`toJSON`), without the decision.
 */
export type ReserveDecision<Unit extends string = string> =
  | (Extract<Decision, { readonly allowed: true }> & Reservation<Unit>)
  | Extract<Decision, { readonly allowed: false }>

/**
 * Checks and charges an estimate, to be settled when it is known what was really used. If allowed,
 * the decision carries `settle`, `cancel` and `toJSON`. One round trip.
 *
 * @throws InputError As `limiter.check` does.
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
  const Given extends string,
>(
  limiter: Limiter<Dimension, Unit, Plan>,
  subject: Subject<NoInfer<Dimension>, PlanName<Given, NoInfer<Plan>>>,
  options: ReserveOptions<NoInfer<Unit>> = {},
): Promise<ReserveDecision<Unit>> {
  const runtime = runtimeOf(limiter)
  const call = parseCall(subject, options, true, ['cost', 'waitUntil', 'settleWithin'])
  const settleWithinMs = durationMs('settleWithin', options.settleWithin ?? '1h')
  const outcome = await decide(runtime, {
    ...call,
    markFor: (id, entries) => {
      // A call in flight can be ended for as long as it is held, however soon its cost is final.
      const held = entries.map(({ policy }) =>
        settlementOf(policy).released ? policy.windowMs : 0,
      )
      return { key: markKey(id), ttlMs: Math.max(settleWithinMs, ...held) }
    },
  })
  const { decision, id } = outcome
  if (!decision.allowed) return decision
  runtime.events.reserved?.({ id, subject, decision })
  const data = dataOf(outcome, decision.at + settleWithinMs)
  return { ...decision, ...reservationOf<Unit>(data, runtime) }
}

/** The reservation that a decision has made. */
function dataOf({ id, entries, reply }: Outcome, settleBy: number): ReservationData {
  const charges = entries.flatMap(({ policy, key, limit, burst, cost: units }, index): Charge[] => {
    const verdict = reply.verdicts[index]
    if (!isHeld(verdict, units)) return []
    return [{ policy: policy.name, key, limit, burst, position: verdict?.position ?? 0, units }]
  })
  return { id, local: reply.degraded !== undefined, settleBy, charges }
}

/** A cost of nothing that fits was let in, and may turn out to be something. */
function isHeld(
  verdict: { readonly charged: boolean; readonly fits: boolean } | undefined,
  units: number,
): boolean {
  return verdict !== undefined && (verdict.charged || (units === 0 && verdict.fits))
}
