/* The oracle: a limiter that is asked for one choice after another, by decisions about one thing each. */
import type { Decision, Limiter } from '@sluice/core'
import { release, reserve, type ReserveDecision } from '@sluice/core/reservations'
import { subjectOf, type CallData, type OneChoice } from './calls.ts'

/** An answer about one choice, as far as it can be compared. */
export type Tried = Pick<
  NonNullable<Decision['tried']>[number],
  'allowed' | 'reason' | 'violated' | 'retryAfterMs'
>

/** The answer to a call with choices. */
export interface Expected {
  readonly choice: number
  readonly decision: Decision | ReserveDecision
  /** The decisions about each choice that was tried. */
  readonly made: readonly (Decision | ReserveDecision)[]
  readonly tried: readonly Tried[]
}

export const triedOf = ({ allowed, reason, violated, retryAfterMs }: Tried): Tried => ({
  allowed,
  reason,
  violated,
  retryAfterMs,
})

/** The options of one reservation, beside its choices. */
export const reserveOptions = ({ releases, maxShare }: CallData) => ({
  maxShare,
  ...(releases && { unsettled: release() }),
})

/** Decides about one choice alone, as `kind` says. */
export async function decideOne(
  limiter: Limiter,
  call: CallData,
  choice: OneChoice,
  kind: CallData['kind'] = call.kind,
): Promise<Decision | ReserveDecision> {
  const { subject: own, ...options } = choice
  const subject = { ...subjectOf(call), ...own }
  if (kind !== 'reserve') return limiter[kind](subject, { cost: options.cost })
  return reserve(limiter, subject, { ...reserveOptions(call), ...options })
}

/** The position of the choice that fits soonest: of several, the first. */
const soonestOf = (decisions: readonly Pick<Decision, 'retryAfterMs'>[]): number => {
  const waits = decisions.map(({ retryAfterMs }) => retryAfterMs ?? Infinity)
  return waits.indexOf(Math.min(...waits))
}

/** The number of policies that take part, over all choices. */
export async function entriesOf(
  twin: Limiter,
  call: CallData,
  choices: readonly OneChoice[],
): Promise<number> {
  let entries = 0
  for (const choice of choices) {
    entries += (await decideOne(twin, call, choice, 'peek')).policies.length
  }
  return entries
}

/** Tries the choices in turn, and charges the first that fits. A peek looks at all of them. */
export async function decideInTurn(
  twin: Limiter,
  call: CallData,
  choices: readonly OneChoice[],
): Promise<Expected> {
  const made: (Decision | ReserveDecision)[] = []
  for (const one of choices) {
    const decision = await decideOne(twin, call, one)
    made.push(decision)
    if (decision.allowed && call.kind !== 'peek') break
  }
  const first = made.findIndex(({ allowed }) => allowed)
  const choice = first === -1 ? soonestOf(made) : first
  return { choice, decision: made[choice] as Decision, made, tried: made.map(triedOf) }
}

/** A decision as it can be compared: who answered is left out, and so are functions. */
export function comparable(decision: Decision | ReserveDecision): object {
  const { at, policies, skipped, plan, planSource, degraded, allowed } = decision
  const { reason, violated, retryAfterMs, delayMs } = decision
  const granted = 'granted' in decision ? decision.granted : undefined
  const known = { at, policies, skipped, plan, planSource, degraded, allowed, granted }
  return { ...known, reason, violated, retryAfterMs, delayMs }
}
