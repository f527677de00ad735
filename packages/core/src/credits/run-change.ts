import type { LuaOperationKind } from '../lua/twins.ts'
import { systemClock } from '../clock.ts'
import { InputError } from '../errors.ts'
import type { Change, Timed } from './change.ts'
import type { Account } from './find-credits.ts'
import { isRefusal, REFUSALS } from './refusals.ts'

/** A balance after a change. Units are those of the policy, such as micro-dollars. */
export interface CreditsChange {
  /** True if this call made the change, false if an earlier one with this id had. */
  readonly applied: boolean
  /** Units granted, corrected, revoked or settled. */
  readonly units: number
  /** Units that a charge may take now. An allowance that no call has begun or enlarged is in `balance` alone. */
  readonly available: number
  /** Units of open reservations, also of those whose time is over. */
  readonly held: number
  /** Units used beyond what there was. The next grant pays them first. */
  readonly debt: number
}

/** Runs a step on an account, whose second key is `other`. @throws InputError When it is refused. */
export async function runStep<Data extends { readonly id: string }>(
  { runtime, compiled, key }: Account,
  kind: LuaOperationKind<Change, Data & Timed>,
  data: Data,
  other: string,
): Promise<Change> {
  const { store, clock, clockIsInjected } = runtime
  const { params } = compiled.policy
  const change = await store.run({
    kind,
    keys: [key, other],
    near: [key],
    data: { ...data, now: clock(), clockIsInjected, params },
    startedAt: systemClock(),
  })
  const { outcome } = change
  if (isRefusal(outcome)) {
    const [field, message] = REFUSALS[outcome]
    throw new InputError(outcome, field, message)
  }
  return change
}

/** Runs a step as `runStep` does, and returns the balance after it. */
export const runChange = async <Data extends { readonly id: string }>(
  ...step: Parameters<typeof runStep<Data>>
): Promise<CreditsChange> => changeOf(await runStep(...step))

export const changeOf = ({ outcome, units, available, held, debt }: Change): CreditsChange => ({
  applied: outcome === 'applied',
  units,
  available,
  held,
  debt,
})
