import type { Cost } from '../cost.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { Store } from '../stores/store.ts'
import { settlementOf } from './settlements.ts'
import { settling, type SettledCharge, type SettleRequest } from './settle.ts'
import { systemClock } from '../clock.ts'
import { assertCost, costIn } from '../cost.ts'
import { isUnits } from '../internal/validation.ts'
import { InputError } from '../errors.ts'
import { runtimeOf } from '../limiter/runtime.ts'
import { keyPrefix } from '../policies/rules.ts'

/** The outcome of settling a reservation. */
export interface Settled {
  /** True if this call did it. */
  readonly applied: boolean
  /**
   * Why it did not: nothing was charged; it was settled before; it was settled too late, so that its
   * estimate is final; or it was made while the store failed, in another process, where alone it can be
   * settled.
   */
  readonly why?: 'nothing_charged' | 'settled_before' | 'too_late' | 'made_elsewhere'
  /** Units given back, by unit; what has left its window meanwhile is not. */
  readonly returned: Readonly<Record<string, number>>
  /** Units charged beyond what was reserved, by unit. */
  readonly overrun: Readonly<Record<string, number>>
}

/** A charge that is an estimate until it is settled. Left unsettled, the estimate stays charged. */
export interface Reservation<Unit extends string = string> {
  /**
   * Corrects the charge to what was really used: units left out keep their estimate. Less is given
   * back where it was taken; more is charged there, even past the limit, or now if that time is over.
   * One round trip. The first call counts, so it can be repeated when its reply was lost.
   *
   * @throws InputError `invalid_cost` when a unit is unknown or no whole number.
   * @throws StoreError When the store fails; the estimate then stays charged, unless it was the reply
   * that was lost.
   */
  settle(actual: Cost<Unit>): Promise<Settled>
  /** Gives everything back: settles at 0. @throws StoreError As `settle` does. */
  cancel(): Promise<Settled>
  /** The reservation as plain data, for `reservation` in another process. */
  toJSON(): ReservationData
}

/** A reservation as plain data. It names keys of the store: keep it from clients. */
export interface ReservationData {
  readonly id: string
  /** True if it was made while the store failed, in the memory of one process. */
  readonly local: boolean
  /** When its estimate becomes final, in epoch ms. */
  readonly settleBy: number
  readonly charges: readonly Charge[]
}

/** The charge of a reservation to one policy. */
export interface Charge {
  readonly policy: string
  readonly key: string
  readonly limit: number
  readonly burst: number
  readonly position: number
  readonly units: number
}

/** The key of the mark that a reservation may still be settled. */
export const markKey = (id: string): string => `hold:${id}`

/**
 * A reservation made elsewhere, from its data or its JSON text, such as out of a queue. It is settled in
 * this limiter's store; a policy that this limiter does not have is left out.
 *
 * @throws InputError `invalid_reservation` when the data is not a reservation's.
 * @example
 * await reservation(limiter, message.body).settle({ token: 812 })
 */
export function reservation<Unit extends string>(
  limiter: Limiter<never, Unit, never> | Limiter,
  data: unknown,
): Reservation<Unit> {
  return reservationOf(validReservation(data), runtimeOf(limiter))
}

/** Makes a reservation of its data. */
export function reservationOf<Unit extends string>(
  data: ReservationData,
  runtime: LimiterRuntime,
): Reservation<Unit> {
  return {
    async settle(actual) {
      if (actual === undefined || actual === null) throw invalid('cost')
      assertCost(actual, runtime.program.units)
      const given = new Set(typeof actual === 'number' ? ['request'] : Object.keys(actual))
      return settle(data, runtime, (unit, reserved) =>
        given.has(unit) ? costIn(actual, unit) : reserved,
      )
    },
    cancel: () => settle(data, runtime, () => 0),
    toJSON: () => data,
  }
}

async function settle(
  data: ReservationData,
  { program, store, clock, clockIsInjected, events }: LimiterRuntime,
  actual: (unit: string, reserved: number) => number,
): Promise<Settled> {
  const { id, charges: all, local, settleBy } = data
  // Nothing was charged: no policy took part, or the decision was made blindly.
  if (all.length === 0) return notApplied('nothing_charged')
  const charges: SettledCharge[] = []
  for (const { policy: name, units: reserved, ...charge } of all) {
    const index = program.policies.findIndex((one) => one.name === name)
    const policy = program.policies[index]
    // A policy that is gone since then, or counts in another way, counts nothing there any more.
    if (policy === undefined || !charge.key.startsWith(`${keyPrefix(policy)}:`)) continue
    if (reserved > policy.maxUnits) throw invalid('reservation')
    const used = settlementOf(policy).released ? 0 : actual(policy.unit, reserved)
    // Policies over one log hold one charge together.
    if (used === reserved || charges.some(({ key }) => key === charge.key)) continue
    charges.push({ ...charge, policy, index, params: policy.params, id, reserved, actual: used })
  }
  const request: SettleRequest = {
    policies: program.policies,
    charges,
    id,
    mark: markKey(id),
    local,
    now: clock(),
    clockIsInjected,
    startedAt: systemClock(),
  }
  const [applied] = await Promise.all([
    store.run(settling(request)),
    local ? freeSlots(store, request) : undefined,
  ])
  if (applied === undefined) {
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
  const settled = { applied: true, ...summed(charges, applied) }
  events.settled?.({ id, returned: settled.returned, overrun: settled.overrun })
  return settled
}

/**
 * Frees calls in flight in a store that had failed: it may have let them in, and lost only its reply.
 * If not, it has no mark of them and does nothing. Where it fails again, they come free by themselves.
 */
async function freeSlots(store: Store, request: SettleRequest): Promise<void> {
  const charges = request.charges.filter(({ policy }) => settlementOf(policy).released)
  if (charges.length === 0) return
  await store.run(settling({ ...request, charges, local: false })).catch(() => undefined)
}

const notApplied = (why: Settled['why'] & string): Settled => ({
  applied: false,
  why,
  returned: {},
  overrun: {},
})

/** The units by unit; where policies of one unit differ, the most. */
function summed(
  charges: readonly SettledCharge[],
  applied: readonly number[],
): Pick<Settled, 'returned' | 'overrun'> {
  const returned: Record<string, number> = {}
  const overrun: Record<string, number> = {}
  for (const [index, { policy }] of charges.entries()) {
    const units = applied[index] ?? 0
    const sums = units < 0 ? returned : overrun
    if (units !== 0) sums[policy.unit] = Math.max(sums[policy.unit] ?? 0, Math.abs(units))
  }
  return { returned, overrun }
}

function invalid(input: 'cost' | 'reservation'): InputError {
  return input === 'cost'
    ? new InputError('invalid_cost', input, 'must be given: what was used, such as { token: 812 }')
    : new InputError('invalid_reservation', input, 'must be what toJSON of one returned')
}

/** Returns `value` if it is the data of a reservation, be it as JSON text; else throws. */
function validReservation(value: unknown): ReservationData {
  const data = (
    typeof value === 'string' ? parsed(value) : value
  ) as Partial<ReservationData> | null
  const isData =
    typeof data?.id === 'string' &&
    /^[0-9a-z]{1,32}$/.test(data.id) &&
    typeof data.local === 'boolean' &&
    Number.isSafeInteger(data.settleBy) &&
    Array.isArray(data.charges) &&
    data.charges.every(isCharge)
  if (isData) return data as ReservationData
  throw invalid('reservation')
}

function isCharge(value: unknown): boolean {
  const { policy, key, limit, burst, position, units } = (value ?? {}) as Partial<Charge>
  return (
    typeof policy === 'string' &&
    typeof key === 'string' &&
    [limit, burst, units].every(isUnits) &&
    Number.isSafeInteger(position) &&
    Number(position) >= 0
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
