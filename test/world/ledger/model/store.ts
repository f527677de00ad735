/* The effect of each call on the store, by the design: one atomic step each. */
import type { Block, Call, Leak, Tenant } from './state.ts'
import { unitsOfCall } from './state.ts'

/** The effect of a step on a tenant's budget and on a call, and the answer of the store. */
export interface Effect {
  readonly tenant: Tenant
  readonly call: Call
  readonly told: string
}

/** Reserves an estimate: charges it and writes a mark, or changes nothing. */
export function reserveInStore(tenant: Tenant, call: Call, limit: number, leak?: Leak): Effect {
  const { estimate } = call
  if (tenant.used + estimate > limit) {
    const charged = leak === 'charges a denied request' ? estimate : 0
    return { tenant: { ...tenant, used: tenant.used + charged }, call, told: 'denied' }
  }
  const charged = leak === 'charges after the call' ? 0 : estimate
  const used = tenant.used + charged
  return { tenant: { ...tenant, used }, call: { ...call, mark: 'open' }, told: 'allowed' }
}

/** Corrects the charge of a call to what was used, once: the first settlement replaces the mark. */
export function settleInStore(tenant: Tenant, call: Call, actual: number, leak?: Leak): Effect {
  const { mark, estimate, isPast, isForgotten } = call
  if (mark === 'none') return { tenant, call, told: 'nothing' }
  const isAgain = leak === 'settles again after a lost reply' && call.place === 'settling'
  if (mark === 'settled' && !isAgain) {
    return { tenant, call, told: `before ${moved(call.applied)}` }
  }
  const isReleased = mark === 'released'
  const undoes = leak === 'settles a released call as if it were held'
  const isUncharged = isReleased ? !undoes : leak === 'charges after the call'
  const difference = actual - (isUncharged ? 0 : estimate)
  const canReturn = !isPast && (!isReleased || undoes)
  const applied = change(tenant, difference, canReturn)
  // By what its caller knows: a call counts what it used, and past its window only what that is above the estimate.
  const isCounted = unitsOfCall(call) > 0
  const owed = isReleased || isCounted ? actual : Math.max(0, actual - estimate)
  const isGivenBack = difference < 0 && mark === 'open' && !isPast
  return {
    tenant: {
      ...tenant,
      used: tenant.used + applied,
      closed: tenant.closed + owed,
      debt: tenant.debt + (isGivenBack ? debtOf(difference, applied, isForgotten) : 0),
    },
    call: {
      ...call,
      mark: 'settled',
      applied,
      returned: call.returned + Math.max(0, -applied),
      settlements: call.settlements + 1,
    },
    told: `applied ${moved(applied)}`,
  }
}

/** Gives back the charge of a call that was not settled in time, unless it was settled or released meanwhile. */
export function releaseInStore(tenant: Tenant, call: Call): Effect {
  const { mark, estimate, isPast, isForgotten } = call
  if (mark !== 'open') return { tenant, call, told: 'nothing' }
  const applied = change(tenant, -estimate, !isPast)
  const debt = tenant.debt + (isPast ? 0 : debtOf(-estimate, applied, isForgotten))
  return {
    tenant: { ...tenant, used: tenant.used + applied, debt },
    call: { ...call, mark: 'released', returned: call.returned - applied },
    told: 'released',
  }
}

/** Gives back what a block has left, once. */
export function returnToStore(
  tenant: Tenant,
  block: Block,
  leak?: Leak,
): { readonly tenant: Tenant; readonly block: Block } {
  const { mark, left, isForgotten } = block
  if (mark !== 'open') return { tenant, block }
  const applied = change(tenant, -left, true)
  const debt = tenant.debt + debtOf(-left, applied, isForgotten)
  return {
    tenant: { ...tenant, used: tenant.used + applied, debt },
    block: {
      ...block,
      mark: leak === 'returns a lease twice' ? mark : 'settled',
      returned: block.returned + left,
    },
  }
}

/** Returns the change that a correction makes in the units of the window of now: never below 0. */
function change({ used }: Tenant, difference: number, canReturn: boolean): number {
  if (difference >= 0) return difference
  return canReturn ? -Math.min(used, -difference) : 0
}

/**
 * Units given back for a forgotten charge are taken from newer ones. When these are given back in turn, less is
 * there than was charged.
 */
const debtOf = (difference: number, applied: number, isForgotten: boolean): number =>
  isForgotten ? -applied : difference - applied

const moved = (applied: number): string =>
  applied === 0 ? '0' : applied < 0 ? `returned ${-applied}` : `overrun ${applied}`
