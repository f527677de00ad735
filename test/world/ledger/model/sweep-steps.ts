/* Finding the calls that were not settled in time, and releasing each: before a denial is the answer, or by a sweep. */
import { endOrDie, freeClosed } from './ending.ts'
import type { Call, State, Tenant, World } from './state.ts'
import { IDLE, withCall, withTenant } from './state.ts'
import { stepOf, tripsIn, type Move } from './steps.ts'
import { releaseInStore } from './store.ts'

export function addFinding(state: State, index: number, world: World, moves: Move[]): void {
  const call = state.calls[index] as Call
  const { tenant: at, estimate } = call
  const isSweep = estimate === 0
  const targets = state.calls.reduce(
    (bits, { tenant, unsettled, mark, isDue }, other) =>
      tenant === at && unsettled === 'release' && mark === 'open' && isDue
        ? bits | (1 << other)
        : bits,
    0,
  )
  for (const trip of tripsIn(world)) {
    const step = stepOf('find', index, at, -1, { trip })
    const isFound = trip === 'arrives'
    const next =
      isFound && targets > 0
        ? withCall(state, index, { ...call, place: 'releasing', targets })
        : withCall(state, index, IDLE)
    const told = isSweep ? (isFound ? 'swept 0' : 'error') : 'denied'
    moves.push({ step, told: isFound && targets > 0 ? '' : told, next })
  }
}

export function addReleasing(state: State, index: number, world: World, moves: Move[]): void {
  const call = state.calls[index] as Call
  const { targets, tenant: at, estimate, hasFailed } = call
  const isSweep = estimate === 0
  for (let target = 0; targets >> target > 0; target += 1) {
    if (!(targets & (1 << target))) continue
    for (const trip of tripsIn(world)) {
      const step = stepOf('release', index, at, -1, { target, trip })
      const isLost = trip !== 'arrives'
      const {
        tenant,
        call: whom,
        told: done,
      } = releaseInStore(state.tenants[at] as Tenant, state.calls[target] as Call)
      const rest = targets & ~(1 << target)
      const released = call.released + (!isLost && done === 'released' ? 1 : 0)
      const hasEnded = rest === 0 && !(isLost || hasFailed)
      const goesOn = hasEnded && !isSweep && released > 0
      const after: Call = goesOn
        ? { ...call, place: 'asking again', targets: 0, released: 0 }
        : rest === 0
          ? IDLE
          : { ...call, targets: rest, released, hasFailed: isLost || hasFailed }
      let next = withCall(state, index, after)
      if (trip !== 'request lost') {
        next = withCall(withTenant(next, at, tenant), target, whom)
        if (whom.place === 'dead') next = endOrDie(next, target, whom)
      }
      next = freeClosed(next, target)
      const failed = isSweep ? 'error' : 'denied'
      const ended = isSweep ? `swept ${released}` : 'denied'
      const told = isLost && !hasFailed ? failed : hasEnded && !goesOn ? ended : ''
      moves.push({ step, told, next })
    }
  }
}
