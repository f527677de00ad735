import type { Settlement } from './algorithm.ts'
import type { Cost } from './cost.ts'
import type { AllowedDecision, DeniedDecision } from './decision.ts'
import type { Asked } from './entries.ts'
import type { Clock } from './clock.ts'
import type { Policy } from './policy.ts'
import type { Hold, SettleRequest, StoreReply } from './store.ts'
import type { FallbackStore } from './stores/fallback.ts'
import { costsOf, isUnits } from './cost.ts'
import { InputError } from './errors.ts'
import { keyPrefix } from './policy.ts'

/** What became of a reservation. */
export interface Settled {
  /** Whether this call did it: `false` if it was settled before, or too long ago to be. */
  readonly applied: boolean
  /** Units given back, by unit. */
  readonly returned: Readonly<Record<string, number>>
  /** Units charged beyond what was reserved, by unit. */
  readonly overrun: Readonly<Record<string, number>>
}

/** A charge that is an estimate until it is settled. Left unsettled, the estimate stays charged. */
export interface Reservation {
  /**
   * Corrects the charge to what was really used: units left out keep their estimate. Less is given
   * back where it was taken, more is charged there, even past the limit. One round trip. The first
   * call counts, so it can be repeated when its reply was lost.
   *
   * @throws InputError `invalid_cost` When a unit is unknown or no whole number.
   * @throws StoreError When the store fails; the estimate then stays charged, unless it was the reply
   * that was lost.
   */
  settle(actual: Cost): Promise<Settled>
  /** Gives everything back: settles at 0. @throws StoreError As `settle` does. */
  cancel(): Promise<Settled>
  /** The reservation as plain data, for `limiter.reservation` in another process. */
  toJSON(): ReservationData
}

/**
 * The decision of `reserve`: if allowed, with the reservation. `JSON.stringify` makes of an allowed one
 * the reservation alone (`toJSON`), without the decision.
 */
export type ReserveDecision = (AllowedDecision & Reservation) | DeniedDecision

/** A reservation as plain data. It names keys of the store: keep it from clients. */
export interface ReservationData {
  readonly id: string
  /** Whether it was made without the store, in the memory of one process, where alone it can be settled. */
  readonly local: boolean
  readonly charges: readonly Charge[]
}

/** What a reservation has charged to one policy. */
interface Charge {
  readonly policy: string
  readonly key: string
  readonly limit: number
  readonly burst: number
  readonly place: number
  readonly units: number
}

/** What a reservation charges, from the reply that allowed it. */
export function chargesOf(
  counted: readonly Asked[],
  reply: StoreReply,
  charged: readonly boolean[],
): Charge[] {
  const places = new Map<string, number>()
  counted.forEach(({ entry: { key } }, index) => {
    // Of policies that count in one key, one tells the place.
    places.set(key, places.get(key) || (reply.places[index] ?? 0))
  })
  return counted.flatMap(({ policy, entry }, index) => {
    if (!charged[index]) return []
    const { key, limit, burst, cost: units } = entry
    return [{ policy: policy.name, key, limit, burst, place: places.get(key) ?? 0, units }]
  })
}

/** The key of the mark that a reservation may still be settled. */
const holdKey = (id: string): string => `hold:${id}`

/** That mark. A call in flight can be ended for as long as it is held, however soon its cost is final. */
export function holdOf(id: string, settleWithinMs: number, counted: readonly Asked[]): Hold {
  const held = counted.map(({ policy }) => (policy.algorithm.released ? policy.windowMs : 0))
  return { key: holdKey(id), ttlMs: Math.max(settleWithinMs, ...held) }
}

/** What settles reservations: a limiter's stores, clock and policies. */
export interface Settler {
  readonly policies: readonly Policy[]
  readonly store: FallbackStore
  readonly clockIsInjected: boolean
  readonly clock: Clock
}

/** A reservation out of its data. */
export function reservationOf(data: ReservationData, settler: Settler): Reservation {
  const { policies, store, clock, clockIsInjected } = settler
  const hold = holdKey(data.id)

  async function correct(actual: (unit: string, reserved: number) => number): Promise<Settled> {
    const [returned, overrun] = [new Map<string, number>(), new Map<string, number>()]
    const settlements: Settlement[] = []
    for (const { policy: name, units: reserved, ...charge } of data.charges) {
      const policy = policies.find((one) => one.name === name)
      // A policy that is gone since then, or counts in another way, counts nothing there any more.
      if (policy === undefined || !charge.key.startsWith(`${keyPrefix(policy)}:`)) continue
      if (reserved > policy.maxUnits) throw invalid('reservation')
      const { algorithm, params, unit } = policy
      const units = algorithm.released ? 0 : actual(unit, reserved)
      if (units < reserved) returned.set(unit, reserved - units)
      if (units > reserved) overrun.set(unit, units - reserved)
      if (units === reserved) continue
      settlements.push({ ...charge, algorithm, params, id: data.id, reserved, actual: units })
    }
    // Nothing was charged: no policy took part, or the decision was made blindly.
    if (data.charges.length === 0) return { applied: false, returned: {}, overrun: {} }
    const request = { hold, settlements, now: clock(), clockIsInjected }
    const [applied] = await Promise.all([
      (data.local ? store.local : store).settle(request),
      data.local ? freeSlots(request) : undefined,
    ])
    const told = (units: Map<string, number>) => Object.fromEntries(applied ? units : [])
    return { applied, returned: told(returned), overrun: told(overrun) }
  }

  /**
   * Frees calls in flight in a store that had failed: it may have let them in, and lost only its reply.
   * If not, it has no mark of them and does nothing. Where it fails again, they come free by themselves.
   */
  async function freeSlots(request: SettleRequest): Promise<void> {
    const settlements = request.settlements.filter(({ algorithm }) => algorithm.released)
    if (settlements.length === 0) return
    await store.settle({ ...request, settlements }).catch(() => false)
  }

  return {
    async settle(actual) {
      if (actual === undefined || actual === null) throw invalid('cost')
      const costs = costsOf(actual, policies)
      const given = new Set(typeof actual === 'number' ? ['request'] : Object.keys(actual))
      return correct((unit, reserved) => (given.has(unit) ? costs(unit) : reserved))
    },
    cancel: () => correct(() => 0),
    toJSON: () => data,
  }
}

function invalid(input: 'cost' | 'reservation'): InputError {
  return input === 'cost'
    ? new InputError('invalid_cost', input, 'must be given: what was used, such as { token: 812 }')
    : new InputError('invalid_reservation', input, 'must be what toJSON of one returned')
}

/** Returns `value` if it is the data of a reservation, be it as JSON text; else throws. */
export function validReservation(value: unknown): ReservationData {
  const data = (
    typeof value === 'string' ? parsed(value) : value
  ) as Partial<ReservationData> | null
  const isData =
    typeof data?.id === 'string' &&
    /^[0-9a-z]{1,16}$/.test(data.id) &&
    typeof data.local === 'boolean' &&
    Array.isArray(data.charges) &&
    data.charges.every(isCharge)
  if (isData) return data as ReservationData
  throw invalid('reservation')
}

function isCharge(value: unknown): boolean {
  const { policy, key, limit, burst, place, units } = (value ?? {}) as Partial<Charge>
  return (
    typeof policy === 'string' &&
    typeof key === 'string' &&
    [limit, burst, units].every(isUnits) &&
    Number.isSafeInteger(place) &&
    Number(place) >= 0
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
