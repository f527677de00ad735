/* The steps of the world: time passes, windows end, plans change, somebody resets a budget. */
import type { Block, Call, Holding, State, Tenant, World } from './state.ts'
import { IDLE, unitsOfBlock, unitsOfCall, withCall, withTenant } from './state.ts'
import { endCall } from './ending.ts'
import { stepOf, tripsIn, type Move } from './steps.ts'

export function addWorldMoves(state: State, world: World, moves: Move[]): void {
  const { can } = world
  for (const [index, tenant] of state.tenants.entries()) {
    if (can.changePlan) {
      const next = withTenant(state, index, { ...tenant, isLowered: !tenant.isLowered })
      moves.push({ step: stepOf('change plan', -1, index, -1), told: '', next })
    }
    // By an isolate, whose own leases of the tenant end with it.
    const isolates = can.reset ? Math.max(1, state.holdings.length) : 0
    for (let isolate = 0; isolate < isolates; isolate += 1) {
      for (const trip of tripsIn(world)) {
        const step = stepOf('reset', isolate, index, -1, { trip })
        const next = reset(state, index, isolate, trip !== 'request lost')
        moves.push({ step, told: trip === 'arrives' ? 'done' : 'error', next })
      }
    }
  }
  const later = wait(state)
  moves.push({ step: stepOf('wait', -1, -1, -1), told: '', next: later })
  if (can.endWindow) {
    moves.push({ step: stepOf('end window', -1, -1, -1), told: '', next: endWindow(later) })
  }
}

/** Until whatever is open now is due, and whatever is over cannot be corrected any more. */
function wait(state: State): State {
  let next = state
  for (const [index, before] of state.calls.entries()) {
    const { place, mark, unsettled, tenant, isDue } = before
    const isFinal = mark === 'open' && unsettled === 'keep'
    if (mark === 'open' && !isFinal) {
      if (!isDue) next = withCall(next, index, { ...before, isDue: true })
    } else if (isFinal || mark === 'settled') {
      const budget = next.tenants[tenant] as Tenant
      const closed = budget.closed + unitsOfCall(before)
      next = withTenant(next, tenant, { ...budget, closed })
      const call: Call = { ...before, mark: 'none', applied: 0, isForgotten: false, isPast: false }
      const isOver = place === 'settled' || place === 'dead' || place === 'closed'
      next = isOver ? endCall(next, index, call) : withCall(next, index, call)
    }
  }
  const holdings = next.holdings.map((holding): Holding => ({
    ...holding,
    serving: older(holding.serving),
    returning: older(holding.returning),
    idle: Math.min(2, holding.idle + 1),
  }))
  return { ...next, holdings }
}

function older(block: Block | undefined): Block | undefined {
  if (block === undefined || block.age === 2) return block
  const age = block.age + 1
  return { ...block, age, mark: age === 2 ? 'none' : block.mark }
}

/** The units of a block whose window is over count nowhere any more. */
const pastBlock = (block: Block | undefined): Block | undefined =>
  block && { ...block, age: 2, mark: 'none', isForgotten: true }

const forgetBlock = (block: Block | undefined): Block | undefined =>
  block && { ...block, isForgotten: true }

/** A window has the length of many waits. */
function endWindow(state: State): State {
  const tenants = state.tenants.map((tenant) => ({ ...tenant, used: 0, closed: 0, debt: 0 }))
  const calls = state.calls.map((call): Call => {
    const isOpen = call.mark === 'open'
    return isOpen ? { ...call, isPast: true, isForgotten: false } : call
  })
  const holdings = state.holdings.map((holding): Holding => ({
    ...holding,
    serving: pastBlock(holding.serving),
    returning: pastBlock(holding.returning),
    idle: 2,
  }))
  return { tenants, calls, holdings }
}

/** The store forgets a tenant's units. Marks and the leases of other isolates stay. */
function reset(state: State, index: number, isolate: number, isDone: boolean): State {
  let next = state
  const own = state.holdings[isolate]
  if (own) {
    const tenant = state.tenants[index] as Tenant
    const closed = tenant.closed + unitsOfBlock(own.serving)
    const holdings = state.holdings.with(isolate, { ...own, size: 1, serving: undefined, idle: 0 })
    next = { ...withTenant(state, index, { ...tenant, closed }), holdings }
  }
  if (!isDone) return next
  const tenant = next.tenants[index] as Tenant
  return {
    tenants: next.tenants.with(index, { ...tenant, used: 0, closed: 0, debt: 0 }),
    calls: next.calls.map((call) =>
      call !== IDLE && call.tenant === index && call.mark === 'open' && !call.isPast
        ? { ...call, isForgotten: true }
        : call,
    ),
    holdings: next.holdings.map(({ size, idle, serving, returning }) => ({
      size,
      idle,
      serving: forgetBlock(serving),
      returning: forgetBlock(returning),
    })),
  }
}
