/* The steps of an isolate with a leased budget: serves from its block, takes the next, gives back what is left. */
import type { Block, Holding, State, Tenant, World } from './state.ts'
import { limitOf, NEW_HOLDING, unitsOfBlock, withHolding, withTenant } from './state.ts'
import { stepOf, tripsIn, type Move } from './steps.ts'
import { returnToStore } from './store.ts'

/** The most decisions of one block. */
export const MOST = 2

/** One block takes at most this part of what is free. */
const PART = 4

/** All leases are of the first tenant's budget. */
const TENANT = 0

/** Adds the moves of the lease of one isolate. */
export function addLeaseMoves(state: State, index: number, world: World, moves: Move[]): void {
  const holding = state.holdings[index] as Holding
  addCheck(state, index, world, moves)
  addReturn(state, index, world, moves)
  if (world.can.die && holding !== NEW_HOLDING) {
    const tenant = budgetOf(state)
    // The units that it holds stay charged.
    const closed = tenant.closed + unitsOfBlock(holding.serving) + unitsOfBlock(holding.returning)
    const next = withHolding(withTenant(state, TENANT, { ...tenant, closed }), index, NEW_HOLDING)
    moves.push({ step: stepOf('die', index, -1, -1), told: '', next })
  }
  // One block at a time is on its way back.
  if (holding.serving && !holding.returning) {
    const next = endLease(state, index, NEW_HOLDING)
    moves.push({ step: stepOf('shut down', index, -1, -1), told: '', next })
  }
}

const budgetOf = ({ tenants }: State): Tenant => tenants[TENANT] as Tenant

/** One decision at a cost of 1. */
function addCheck(state: State, index: number, world: World, moves: Move[]): void {
  const { leak } = world
  const holding = state.holdings[index] as Holding
  const { serving, returning } = holding
  const limit = limitOf(world, budgetOf(state))
  const isSame = serving?.limit === limit
  const isUsable = serving !== undefined && isSame && serving.age === 0
  if (isUsable && serving.left > 0) {
    const served = { ...holding, serving: { ...serving, left: serving.left - 1 } }
    const step = stepOf('check', index, TENANT, 1)
    moves.push({ step, told: 'leased', next: withHolding(state, index, served) })
    return
  }
  const mustReturn = serving !== undefined && !isUsable && serving.left > 0
  if (mustReturn && returning) return
  // Half of it was not needed.
  const shrinks = serving !== undefined && isSame && !isUsable && serving.left * 2 >= serving.units
  const shrunk = shrinks ? Math.max(1, holding.size >> 1) : holding.size
  // Used up before its end: the traffic is faster than the block was for.
  const wanted = holding.idle === 2 ? 1 : Math.min(MOST, isUsable ? shrunk * 2 : shrunk)
  const asked = { ...holding, size: wanted, idle: 0 }
  const before = isUsable ? withHolding(state, index, asked) : endLease(state, index, asked)
  const tenant = budgetOf(before)
  const fits = tenant.used + 1 <= limit
  const part = Math.floor((limit - tenant.used) / PART)
  const units = Math.max(1, Math.min(wanted, part))
  const charged = { ...tenant, used: tenant.used + units }
  // The next may be lost, too, so it is a small one.
  const unanswered = withHolding(before, index, {
    ...(before.holdings[index] as Holding),
    size: 1,
  })
  for (const trip of tripsIn(world)) {
    const step = stepOf('check', index, TENANT, 1, { trip })
    const isCharged = fits && trip !== 'request lost'
    if (!isCharged) {
      const leaked = leak === 'charges a denied request' && trip !== 'request lost' ? 1 : 0
      const rest = trip === 'arrives' ? before : unanswered
      const next = withTenant(rest, TENANT, { ...tenant, used: tenant.used + leaked })
      moves.push({ step, told: trip === 'arrives' ? 'denied' : 'unavailable', next })
    } else if (trip === 'reply lost') {
      // Nobody knows of these units.
      const next = withTenant(unanswered, TENANT, { ...charged, closed: tenant.closed + units })
      moves.push({ step, told: 'unavailable', next })
    } else {
      const block: Block = {
        units,
        left: units - 1,
        limit,
        mark: wanted > 1 ? 'open' : 'none',
        age: 0,
        isForgotten: false,
        returned: 0,
      }
      const replaced = unitsOfBlock((before.holdings[index] as Holding).serving)
      const next = withTenant(before, TENANT, { ...charged, closed: tenant.closed + replaced })
      moves.push({
        step,
        told: 'allowed',
        next: withHolding(next, index, {
          ...asked,
          returning: before.holdings[index]?.returning,
          serving: block,
        }),
      })
    }
  }
}

/** Ends the lease of an isolate. The rest is on its way back. */
function endLease(state: State, index: number, rest: Holding): State {
  const { serving, returning } = state.holdings[index] as Holding
  const isUnused = serving !== undefined && serving.left > 0
  const ended = { ...rest, serving: undefined, returning: isUnused ? serving : returning }
  const next = withHolding(state, index, ended)
  if (isUnused) return next
  const tenant = budgetOf(state)
  const closed = tenant.closed + unitsOfBlock(serving)
  return withTenant(next, TENANT, { ...tenant, closed })
}

/** The one call that gives a block's units back. It is never repeated. */
function addReturn(state: State, index: number, world: World, moves: Move[]): void {
  const holding = state.holdings[index] as Holding
  const { returning } = holding
  if (!returning) return
  const tenant = budgetOf(state)
  for (const trip of tripsIn(world)) {
    const step = stepOf('return', index, TENANT, -1, { trip })
    const done =
      trip === 'request lost'
        ? { tenant, block: returning }
        : returnToStore(tenant, returning, world.leak)
    // It counts what it has served, or all of it if nothing came back.
    const isRepeated = world.leak === 'returns a lease twice' && trip === 'reply lost'
    const closed = done.tenant.closed + (isRepeated ? 0 : unitsOfBlock(done.block))
    const after = { ...holding, returning: isRepeated ? done.block : undefined }
    const next = withHolding(withTenant(state, TENANT, { ...done.tenant, closed }), index, after)
    moves.push({ step, told: '', next })
  }
}
