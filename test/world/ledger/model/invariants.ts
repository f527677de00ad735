/* The claims that hold in each state, and of each step. */
import type { State, World } from './state.ts'
import { limitOf, unitsOfBlock, unitsOfCall } from './state.ts'
import type { Move } from './steps.ts'

/** Returns the name of an invariant that the state violates. */
export function violatedIn(state: State, world: World): string | undefined {
  const { tenants, calls, holdings } = state
  for (const [index, { used, closed, debt }] of tenants.entries()) {
    let open = 0
    for (const call of calls) if (call.tenant === index) open += unitsOfCall(call)
    if (index === 0) {
      for (const { serving, returning } of holdings) {
        open += unitsOfBlock(serving) + unitsOfBlock(returning)
      }
    }
    if (used !== closed + open - debt) return 'charged is settled, in flight and abandoned'
    if (used < 0 || closed < 0) return 'no count is below 0'
    if (debt < 0 || debt > mostForgotten(world)) return 'a reset forgives what was open, at most'
    if (used > world.limits[0] + mostOverrun(world)) return 'an overrun is bounded by what is open'
  }
  for (const { estimate, returned, settlements } of calls) {
    if (settlements > 1) return 'a settlement acts once'
    if (returned > estimate) return 'units are returned once'
  }
  for (const { serving, returning } of holdings) {
    for (const block of [serving, returning]) {
      if (!block) continue
      if (block.left < 0 || block.left > block.units) return 'a lease serves what was charged'
      if (block.returned > block.left) return 'units are returned once'
    }
  }
  return undefined
}

/** The units of all calls and blocks that can be open at the moment of a reset. */
const mostForgotten = ({ isolates, estimates, hasLeases }: World): number =>
  isolates * (Math.max(0, ...estimates) + (hasLeases ? 4 : 0))

/** Units that all open calls together can be settled at above their estimates, all of them released before. */
const mostOverrun = ({ isolates, estimates, differences }: World): number =>
  isolates * Math.max(0, ...estimates) + isolates * Math.max(0, ...differences)

/** Returns the name of an invariant that the step violates. */
export function violatedBy(
  before: State,
  { step, told, next }: Move,
  world: World,
): string | undefined {
  const { kind, tenant: at, trip } = step
  for (const [index, tenant] of next.tenants.entries()) {
    const was = before.tenants[index]
    if (was === undefined || was === tenant) continue
    const isOwn = at === index || at < 0 || (kind === 'die' && tenant.used === was.used)
    if (!isOwn) return 'a step changes one budget'
    const grown = tenant.used - was.used
    if (told === 'denied' && grown !== 0 && kind !== 'release') {
      return 'a denied request changes nothing'
    }
    if (trip === 'request lost' && grown !== 0) return 'a lost request changes nothing'
    if (grown <= 0) continue
    // Units are charged to a request that fits, …
    const isGrant = kind === 'reserve' || kind === 'ask again' || kind === 'check'
    if (isGrant) {
      const asked = kind === 'ask again' ? before.calls[step.isolate] : was
      if (tenant.used > limitOf(world, asked ?? was)) return 'never above the limit'
      continue
    }
    // … or to a call that has used more than it holds, and whose caller is told so.
    const isOverrun = trip === 'arrives' ? told === `applied overrun ${grown}` : told === 'error'
    if (!isOverrun) return 'only overruns pass the limit'
  }
  return undefined
}
