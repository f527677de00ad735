/* The steps of an isolate with its one call: reserve, settle, cancel, and what follows by itself. */
import { endCall, endOrDie, isTarget } from './ending.ts'
import type { Call, State, Tenant, World } from './state.ts'
import { IDLE, limitOf, withCall, withTenant } from './state.ts'
import { stepOf, tripsIn, type Move, type Step } from './steps.ts'
import { reserveInStore, settleInStore, type Effect } from './store.ts'
import { addFinding, addReleasing } from './sweep-steps.ts'

/** Attempts to cancel in the background. */
const MAX_ATTEMPTS = 3

/** Adds the moves of the call of one isolate. */
export function addCallMoves(state: State, index: number, world: World, moves: Move[]): void {
  const call = state.calls[index] as Call
  const { place } = call
  if (place === 'idle') addFirstMoves(state, index, world, moves)
  else if (place === 'held' || place === 'settling') addSettling(state, index, world, moves)
  else if (place === 'settled') addRepeats(state, index, moves)
  else if (place === 'cancelling') addCancelling(state, index, world, moves)
  else if (place === 'finding') addFinding(state, index, world, moves)
  else if (place === 'releasing') addReleasing(state, index, world, moves)
  else if (place === 'asking again') addReserving(state, index, call, world, moves)
  if (world.can.die && !['idle', 'dead', 'closed', 'settled'].includes(place)) {
    const step = stepOf('die', index, -1, -1)
    moves.push({ step, told: '', next: endOrDie(state, index, call) })
  }
}

function addFirstMoves(state: State, index: number, world: World, moves: Move[]): void {
  for (let tenant = 0; tenant < world.tenants; tenant += 1) {
    for (const estimate of world.estimates) {
      for (const unsettled of world.unsettled) {
        addReserving(state, index, { ...IDLE, tenant, estimate, unsettled }, world, moves)
      }
    }
    if (world.can.sweep) {
      const next = withCall(state, index, { ...IDLE, tenant, place: 'finding' })
      moves.push({ step: stepOf('sweep', index, tenant, -1), told: '', next })
    }
  }
}

/** The round trip that reserves. The second one of a call is after a sweep. */
function addReserving(state: State, index: number, call: Call, world: World, moves: Move[]): void {
  const { tenant: at, estimate, unsettled, place } = call
  const tenant = state.tenants[at] as Tenant
  const isFirst = place === 'idle'
  const limit = limitOf(world, isFirst ? tenant : call)
  const asked = { ...IDLE, tenant: at, estimate, unsettled }
  const done = reserveInStore(tenant, asked, limit, world.leak)
  for (const trip of tripsIn(world)) {
    const step = isFirst
      ? stepOf('reserve', index, at, estimate, { unsettled, trip })
      : stepOf('ask again', index, at, -1, { trip })
    if (trip === 'arrives') {
      const isSwept = done.told === 'denied' && isFirst && unsettled === 'release'
      // A cost that never fits is denied at once.
      const goesOn = isSwept && estimate <= limit
      const after: Call = goesOn
        ? { ...asked, place: 'finding', isLowered: tenant.isLowered }
        : done.told === 'denied'
          ? IDLE
          : { ...done.call, place: 'held' }
      const next = withCall(withTenant(state, at, done.tenant), index, after)
      moves.push({ step, told: goesOn ? '' : done.told, next })
    } else {
      // The caller is told a denial, and cancels what may have been charged.
      const { tenant: charged, call: marked } =
        trip === 'reply lost' ? done : { tenant, call: asked }
      const after: Call = { ...marked, place: 'cancelling' }
      const next = withCall(withTenant(state, at, charged), index, after)
      moves.push({ step, told: 'unavailable', next })
    }
  }
}

function addSettling(state: State, index: number, world: World, moves: Move[]): void {
  const call = state.calls[index] as Call
  const { place, estimate, tenant } = call
  if (place === 'settling') {
    for (const trip of tripsIn(world)) {
      addSettlement(
        state,
        index,
        stepOf('retry', index, tenant, call.actual, { trip }),
        world,
        moves,
      )
    }
    return
  }
  for (const trip of tripsIn(world)) {
    for (const difference of world.differences) {
      const step = stepOf('settle', index, tenant, estimate + difference, { trip })
      addSettlement(state, index, step, world, moves)
    }
    addSettlement(state, index, stepOf('cancel', index, tenant, 0, { trip }), world, moves)
  }
}

function addSettlement(
  state: State,
  index: number,
  step: Step,
  { leak }: World,
  moves: Move[],
): void {
  const { tenant: at, units, trip } = step
  const call = state.calls[index] as Call
  const tenant = state.tenants[at] as Tenant
  if (trip === 'request lost') {
    const next = withCall(state, index, { ...call, place: 'settling', actual: units })
    moves.push({ step, told: 'error', next })
    return
  }
  const done = settleInStore(tenant, call, units, leak)
  const settled = withTenant(state, at, done.tenant)
  if (trip === 'reply lost') {
    const after: Call = { ...done.call, place: 'settling', actual: units }
    moves.push({ step, told: 'error', next: withCall(settled, index, after) })
    return
  }
  const { mark, applied, estimate, returned, settlements } = done.call
  // Only the mark remembers it from here on.
  const left = { tenant: at, mark, applied, estimate, returned, settlements }
  const after: Call = { ...IDLE, ...left, place: 'settled' }
  const next = mark === 'none' ? endCall(settled, index, IDLE) : withCall(settled, index, after)
  moves.push({ step, told: done.told === 'nothing' ? 'too late' : done.told, next })
}

/** Settling once more changes nothing, and the answer is what the first settlement did. */
function addRepeats(state: State, index: number, moves: Move[]): void {
  const call = state.calls[index] as Call
  const { told } = settleInStore(state.tenants[call.tenant] as Tenant, call, 0)
  moves.push({ step: stepOf('repeat', index, call.tenant, 0), told, next: state })
  if (isTarget(state, index)) return
  moves.push({
    step: stepOf('forget', index, -1, -1),
    told: '',
    next: withCall(state, index, IDLE),
  })
}

function addCancelling(state: State, index: number, world: World, moves: Move[]): void {
  const call = state.calls[index] as Call
  const { tenant: at, attempts } = call
  const tenant = state.tenants[at] as Tenant
  for (const trip of tripsIn(world)) {
    const step = stepOf('cancel in the background', index, at, -1, { trip })
    const done: Effect =
      trip === 'request lost'
        ? { tenant, call, told: '' }
        : settleInStore(tenant, call, 0, world.leak)
    const after = withTenant(state, at, done.tenant)
    const isLast = attempts + 1 === MAX_ATTEMPTS
    const again: Call = { ...done.call, attempts: attempts + 1 }
    const next =
      trip === 'arrives'
        ? endCall(after, index, done.call)
        : isLast
          ? endOrDie(after, index, done.call)
          : withCall(after, index, again)
    moves.push({ step, told: '', next })
  }
}
