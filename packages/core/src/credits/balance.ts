import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import { CreditAccount } from '../algorithms/credit-account.ts'
import { byPosition, INCLUDED, lotFacts } from '../algorithms/credit-state.ts'
import { readAccount } from './read-account.ts'
import { accountIn, type CreditsChoice } from './find-credits.ts'
import { termsOf } from './terms.ts'

/** The balance of a subject. Units are those of the policy, such as micro-dollars; times are epoch milliseconds. */
export interface Balance {
  /** The rest of all lots, less the debt. */
  readonly balance: number
  /** Units that a charge may take now. */
  readonly available: number
  /** Units of open reservations that may still be settled in time. */
  readonly held: number
  /** Units of reservations whose time is over. */
  readonly abandoned: number
  /** Units used beyond what there was. */
  readonly debt: number
  /** In the order of their use. */
  readonly lots: readonly BalanceLot[]
  readonly reservations: readonly OpenHold[]
  /**
   * All units so far. granted + adjusted - revoked - expired - settled - held - abandoned = balance, always.
   */
  readonly totals: Readonly<
    Record<'granted' | 'adjusted' | 'revoked' | 'expired' | 'settled', number>
  >
  /** The end of the running period of the allowance. `undefined` without one. */
  readonly renewsAt: number | undefined
  /** The time of the balance, by the store's clock. */
  readonly at: number
}

/** The rest of grants of one priority, time and kind, or of the allowance. */
export interface BalanceLot {
  readonly kind: 'included' | 'paid' | 'promotional'
  readonly left: number
  readonly priority: number | undefined
  /** The time from which it may be used, if that is not now. */
  readonly effectiveAt: number | undefined
  readonly expiresAt: number | undefined
}

/** An open reservation. */
export interface OpenHold {
  /** The id, for `settleHold`. */
  readonly id: string
  readonly units: number
  /** The time until which it is to be settled. */
  readonly dueAt: number
  readonly isAbandoned: boolean
}

/**
 * Reads the balance of a subject, and changes nothing: what has expired, and a new period's allowance, are in it before
 * they are written. Two round trips.
 *
 * @throws ConfigError When the limiter has no credits.
 * @throws InputError When the subject lacks a dimension.
 * @throws StoreError When the store fails.
 * @example
 * const { available, lots, reservations } = await balance(limiter, { tenant: 'acme', plan: 'growth' })
 */
export async function balance<Dimension extends string>(
  limiter: Limiter<Dimension, never, never> | Limiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  options: CreditsChoice = {},
): Promise<Balance> {
  const account = await accountIn(limiter, subject, options, ['balance'])
  const terms = await termsOf(account, subject)
  const { now, state } = await readAccount(account, false)
  const { params } = account.compiled.policy
  return describe(new CreditAccount(state, now, { ...terms, params }), now)
}

function describe(account: CreditAccount, now: number): Balance {
  const { granted, adjusted, revoked, expired, settled, debt, included, finish } = account.sums
  const reservations = byPosition(account.holds).map(([, { id, units, due }]): OpenHold => ({
    id,
    units,
    dueAt: due,
    isAbandoned: due <= now,
  }))
  const sumOf = (isAbandoned: boolean): number =>
    reservations
      .filter((one) => one.isAbandoned === isAbandoned)
      .reduce((sum, { units }) => sum + units, 0)
  const lots = account.lots.map(({ name, left }): BalanceLot => {
    const { priority, effective, expires, kind } = lotFacts(name)
    return {
      kind: kind as BalanceLot['kind'],
      left,
      priority,
      effectiveAt: effective > now ? effective : undefined,
      expiresAt: expires || undefined,
    }
  })
  const left = lots.reduce((sum, lot) => sum + lot.left, included)
  const isRunning = now < finish
  return {
    balance: left - debt,
    available: account.available(),
    held: sumOf(false),
    abandoned: sumOf(true),
    debt,
    lots: included > 0 ? [allowance(included, finish), ...lots] : lots,
    reservations,
    totals: { granted, adjusted, revoked, expired, settled },
    renewsAt: isRunning ? finish : undefined,
    at: now,
  }
}

const allowance = (left: number, finish: number): BalanceLot => ({
  kind: INCLUDED,
  left,
  priority: undefined,
  effectiveAt: undefined,
  expiresAt: finish,
})
