import {
  createLimiter,
  definePlans,
  fixedWindow,
  listen,
  slidingWindow,
  StoreError,
} from '@sluice/core'
import type { Limiter, Policy, Store, Subject } from '@sluice/core'
import { lease, leased, type LeasedStore } from '@sluice/core/leases'
import {
  release,
  reserve,
  sweepUnsettled,
  type Reservation,
  type Settled,
} from '@sluice/core/reservations'
import { MOST } from '../model/lease-steps.ts'
import type { World } from '../model/state.ts'

/** The window is longer than all waits of a path. */
export const WINDOW_MS = 3_600_000
/** Reservations and leases end in a wait; a block can be given back for a minute longer. */
const SETTLE_WITHIN_MS = 120_000
export const WAIT_MS = SETTLE_WITHIN_MS + 1

const COMMON = { name: 'budget', window: '1h', per: ['tenant'], unit: 'token' } as const

export type Algorithm = 'fixedWindow' | 'slidingWindow'

const policyOf = (algorithm: Algorithm, limit: number | ((plan: never) => number)): Policy =>
  algorithm === 'fixedWindow'
    ? fixedWindow({ ...COMMON, limit: limit as number })
    : slidingWindow({ ...COMMON, limit: limit as number })

/** One isolate of the product. */
export interface Isolate {
  readonly limiter: Limiter
  readonly store: Store | LeasedStore
}

const unitsOf = ({ plan }: { plan: { units: number } }): number => plan.units

export function createIsolate(
  { limits: [large, small], hasLeases }: World,
  algorithm: Algorithm,
  store: Store,
): Isolate {
  const policy = policyOf(algorithm, unitsOf)
  const own = hasLeases ? leased(store, { fetchAhead: false }) : store
  const limiter = createLimiter({
    store: own,
    plans: definePlans({ large: { units: large }, small: { units: small } }),
    policies: [hasLeases ? lease(policy, { duration: '2m', most: MOST }) : policy],
    onStoreError: 'deny',
    // Failures are expected here, and need no line in the log.
    extensions: [listen({ problem: () => {} })],
  }) as unknown as Limiter
  return { limiter, store: own }
}

/** More than anybody uses. */
const PLENTY = 1_000

/** Creates a function that reads the units in a tenant's window, by a limiter with another limit. */
export function createMeter(
  { hasLeases }: World,
  algorithm: Algorithm,
  store: Store,
): (subject: Subject) => Promise<number> {
  const policy = policyOf(algorithm, PLENTY)
  const policies = [hasLeases ? lease(policy, { duration: '2m', most: MOST }) : policy]
  const limiter = createLimiter({ store: hasLeases ? leased(store) : store, policies })
  return async (subject) => {
    const { policies: states } = await limiter.peek(subject, { cost: { token: 0 } })
    return PLENTY - (states[0]?.remaining ?? Number.NaN)
  }
}

/** Asks for units, as a reservation that is kept or released. */
export const reserveUnits = (
  limiter: Limiter,
  subject: Subject,
  token: number,
  unsettled: 'keep' | 'release',
): ReturnType<typeof reserve> =>
  reserve(limiter, subject, {
    cost: { token },
    settleWithin: SETTLE_WITHIN_MS,
    unsettled: unsettled === 'release' ? release() : undefined,
  })

export async function checkUnit(limiter: Limiter, subject: Subject): Promise<string> {
  const { allowed, source, reason } = await limiter.check(subject, { cost: { token: 1 } })
  if (!allowed) return reason === 'store_unavailable' ? 'unavailable' : 'denied'
  return source === 'lease' ? 'leased' : 'allowed'
}

export const settleUnits = (call: Reservation, token: number): Promise<string> =>
  orError(async () => describeSettled(await call.settle({ token })))

export const cancelCall = (call: Reservation): Promise<string> =>
  orError(async () => describeSettled(await call.cancel()))

export const sweep = (limiter: Limiter, subject: Subject): Promise<string> =>
  orError(async () => `swept ${await sweepUnsettled(limiter, subject)}`)

export const resetTenant = (limiter: Limiter, { tenant }: Subject): Promise<string> =>
  orError(async () => {
    await limiter.reset({ tenant })
    return 'done'
  })

/** Describes a settlement in the words of the model. */
function describeSettled({ applied, why, returned, overrun }: Settled): string {
  const { token: back = 0 } = returned
  const { token: more = 0 } = overrun
  const moved = back > 0 ? `returned ${back}` : more > 0 ? `overrun ${more}` : '0'
  if (applied) return `applied ${moved}`
  return why === 'settled_before' ? `before ${moved}` : (why ?? '').replaceAll('_', ' ')
}

async function orError(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof StoreError) return 'error'
    throw error
  }
}
