import type { Cost } from '../cost.ts'
import type { Choices } from '../limiter/call.ts'
import type { Limiter, PlanName } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import { decide } from '../limiter/decide.ts'
import { parseCall } from '../limiter/call.ts'
import { runtimeOf } from '../limiter/runtime.ts'
import { assertReservationId, chargeOf, type ReservationData } from './reservation-data.ts'
import { settle, type Settled } from './settle.ts'
import { startTelling } from './telling.ts'

/** The options of one call to `cancelById`. */
export interface CancelByIdOptions<Unit extends string = string> {
  /** The `id` that the reservation was made with, which no other tenant uses: never one that a client has chosen. */
  readonly id: string
  /** The cost that it was made with. @default 1 request */
  readonly cost?: Cost<Unit> | undefined
  /** The choices that it was made with, if it had any. */
  readonly choices?: Choices<Unit> | undefined
}

/**
 * Gives back what a process has reserved under an `id` of yours, if it has died before it told anybody its data: for
 * work that is done again. That reservation charges nothing from then on, in any case. Two round trips; of choices, one
 * more for each.
 *
 * Units that leases have served in the process that died, and stripes, stay charged.
 *
 * @returns `applied: false` with `why: 'nothing_charged'` if nothing was reserved, or its time is over; with
 * `'settled_before'` if it was settled less than a minute ago.
 * @throws InputError As `reserve` does.
 * @throws StoreError When the store fails.
 * @example
 * await cancelById(limiter, { tenant: 'acme' }, { id: `${job.id}a1`, cost: { token: 2_000 } })
 */
export async function cancelById<
  Dimension extends string,
  Unit extends string,
  Plan extends string,
  const Literal extends string,
>(
  limiter: Limiter<Dimension, Unit, Plan>,
  subject: Subject<NoInfer<Dimension>, PlanName<Literal, NoInfer<Plan>>>,
  { id, ...options }: CancelByIdOptions<NoInfer<Unit>>,
): Promise<Settled> {
  assertReservationId(id)
  const runtime = runtimeOf(limiter)
  const call = parseCall(subject, options, false, ['cost', 'choices'])
  const outcome = await decide(runtime, { ...call, id })
  const { plan, at } = outcome.decision
  let settled: Settled | undefined
  for (const { id: own, entries } of outcome.alternatives ?? [outcome]) {
    const charges = entries.map((entry) => chargeOf(entry))
    const limits = Object.fromEntries(
      entries.map(({ policy, policyLimit }) => [policy.name, policyLimit]),
    )
    const origin = { subject, plan, at, limits }
    const data: ReservationData = { id: own, madeIn: 'store', settleBy: Infinity, charges, origin }
    settled = await settle(data, runtime, () => 0, startTelling())
    // Of choices, one was charged at most.
    if (settled.why !== 'nothing_charged') break
  }
  return settled as Settled
}
