import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import { isUnits, MAX_UNITS } from '../internal/validation.ts'
import { lotName } from '../algorithms/credit-state.ts'
import { markKey } from '../reservations/reservation-data.ts'
import { UNKNOWN_REQUEST } from '../limiter/unknown-request.ts'
import { DAY_MS } from './bounds.ts'
import { GRANT, REVOKE, SETTLE_HOLD } from './change.ts'
import { accountIn, type Account, type CreditsChoice } from './find-credits.ts'
import { assertId, invalid, msOf, noteOf, type Instant } from './grant-input.ts'
import { assertMicros } from './micro-dollars.ts'
import { changeOf, runChange, runStep, type CreditsChange } from './run-change.ts'

/** Options of `grant`. */
export interface GrantOptions extends CreditsChoice {
  /** The units, such as `usd(10)`. */
  readonly amount: number
  /** Your id of it, such as that of the payment: a repeated grant counts once. Up to 128 characters without spaces. */
  readonly id: string
  /** The time of the payment. A grant of more than 90 days ago is refused, because its id may be forgotten. */
  readonly at: Instant
  /** The time from which it may be used. @default at once */
  readonly effectiveAt?: Instant | undefined
  /** The time at which what is left of it expires. @default never */
  readonly expiresAt?: Instant | undefined
  /** The order of use, from 0 to 1,000: a lower number first. @default 100 */
  readonly priority?: number | undefined
  /** `'promotional'` is used before `'paid'` of the same priority and expiry. */
  readonly kind: 'paid' | 'promotional'
  /** A note for the journal. @default none */
  readonly reason?: string | undefined
}

type AnyLimiter<Dimension extends string> = Limiter<Dimension, never, never> | Limiter<Dimension>

/**
 * Adds credits to the balance of a subject. A grant with the same id counts once, however often it comes, so that it is
 * safe to repeat. Grants of equal priority, times and kind are one lot; a balance has up to 64. One round trip.
 *
 * @throws InputError `grant_too_old`, `grant_differs` if the id was used for another amount, `too_many_lots`,
 *   `too_many_grants` (10,000 in 90 days), `balance_too_large`, or `invalid_grant`.
 * @throws StoreError When the store fails. Repeat the grant then.
 * @example
 * await grant(limiter, { tenant: 'acme' }, {
 *   amount: usd(50), id: payment.id, at: new Date(payment.created * 1000), kind: 'paid', reason: 'Top-up',
 * })
 */
export async function grant<Dimension extends string>(
  limiter: AnyLimiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  options: GrantOptions,
): Promise<CreditsChange> {
  const account = await accountIn(limiter, subject, options, GRANT_OPTIONS)
  const { amount, id, kind, priority = 100, reason } = options
  if (!isUnits(amount) || amount < 1)
    throw invalid('amount', `must be units from 1 to ${MAX_UNITS}`)
  assertMicros(account.compiled.policy.unit, 'amount', amount, invalid)
  if (kind !== 'paid' && kind !== 'promotional') {
    throw invalid('kind', "must be 'paid' or 'promotional'")
  }
  if (!Number.isInteger(priority) || priority < 0 || priority > 1_000) {
    throw invalid('priority', 'must be a whole number from 0 to 1000')
  }
  const [effective, expires] = [options.effectiveAt, options.expiresAt].map((time, index) =>
    time === undefined ? 0 : msOf(index === 0 ? 'effectiveAt' : 'expiresAt', time),
  ) as [number, number]
  if (expires > 0 && expires <= effective) throw invalid('expiresAt', 'must be after effectiveAt')
  return addUnits(account, {
    id,
    at: options.at,
    units: amount,
    sum: 'granted',
    lot: lotName({ priority, effective, expires, kind }),
    reason,
  })
}

const GRANT_OPTIONS = [
  'grant',
  'amount',
  'id',
  'at',
  'effectiveAt',
  'expiresAt',
  'priority',
  'kind',
  'reason',
] as const

/** Options of `adjust`. */
export interface AdjustOptions extends CreditsChoice {
  /** Units to add, or to take if it is below 0. Units that are not there become a debt. */
  readonly amount: number
  /** Your id of it: a repeated correction counts once. */
  readonly id: string
  /** The time of the correction. */
  readonly at: Instant
  /** A note for the journal. */
  readonly reason: string
}

/**
 * Corrects the balance of a subject. Units that are added never expire. Taken are paid units before promotional ones, those that
 * last longest first, and the allowance last: a partial refund leaves no paid units for an allowance that is renewed.
 *
 * @throws InputError As `grant` does.
 * @throws StoreError When the store fails. Repeat it then.
 * @example
 * await adjust(limiter, { tenant: 'acme' }, { amount: -usd(2), id: 'case-17', at: new Date(), reason: 'Paid twice' })
 */
export async function adjust<Dimension extends string>(
  limiter: AnyLimiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  options: AdjustOptions,
): Promise<CreditsChange> {
  const known = ['adjust', 'amount', 'id', 'at', 'reason'] as const
  const account = await accountIn(limiter, subject, options, known)
  const { amount, id, at, reason } = options
  if (!isUnits(Math.abs(amount)) || amount === 0) {
    throw invalid('amount', 'must be a whole number of units, above or below 0')
  }
  if (typeof reason !== 'string' || reason === '') throw invalid('reason', 'must be a text')
  const lot = lotName({ priority: 100, effective: 0, expires: 0, kind: 'paid' })
  return addUnits(account, { id, at, units: amount, sum: 'adjusted', lot, reason })
}

/** Options of `revoke`. */
export interface RevokeOptions extends CreditsChoice {
  /** True to make a debt of what is no longer left of it: used, expired or held. @default false, what is left is taken */
  readonly debt?: boolean
  /** A note for the journal. @default none */
  readonly reason?: string
}

/**
 * Takes back a grant of the last 90 days: what is left of its lot, up to its amount. `units` says how many. Units that open
 * reservations hold are left; with `debt`, also in a second call, all of it is taken, also units that have expired unused: how many
 * of one grant these are is not kept. Make up for them by `adjust`.
 *
 * @throws InputError `grant_unknown` when there is no grant with this id.
 * @throws StoreError When the store fails. Repeat it then.
 * @example
 * await revoke(limiter, { tenant: 'acme' }, payment.id, { debt: true, reason: 'Chargeback' })
 */
export async function revoke<Dimension extends string>(
  limiter: AnyLimiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  id: string,
  options: RevokeOptions = {},
): Promise<CreditsChange> {
  const account = await accountIn(limiter, subject, options, ['revoke', 'debt', 'reason'])
  assertId(id)
  const { debt = false, reason } = options
  // As text, it would take less than was asked for.
  if (typeof debt !== 'boolean') throw invalid('debt', 'must be true or false')
  const data = { id, owes: debt, more: noteOf(id, reason) }
  return runChange(account, REVOKE, data, account.idsKey)
}

/** Options of `settleHold`. */
export interface SettleHoldOptions extends CreditsChoice {
  /**
   * False if usage does not have the estimate: the call was answered with 503, as the store's reply was lost, or its process
   * died before it had recorded that. @default true
   */
  readonly recorded?: boolean
}

/**
 * Settles an open reservation of a balance by its id, when the process that made it is gone. `balance` lists them.
 * `applied` is false if there is none. Usage is corrected by the difference to the estimate, in the hour of now, under the route
 * and model `'(unknown)'`, unless the subject names them; if the store's reply is lost, it is not.
 *
 * @throws InputError When `units` is no number of units.
 * @throws StoreError When the store fails. Repeat it then.
 * @example
 * for (const { id, isAbandoned } of (await balance(limiter, subject)).reservations) {
 *   if (isAbandoned) await settleHold(limiter, subject, id, 0)
 * }
 */
export async function settleHold<Dimension extends string>(
  limiter: AnyLimiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  id: string,
  units: number,
  options: SettleHoldOptions = {},
): Promise<CreditsChange> {
  const account = await accountIn(limiter, subject, options, ['settleHold', 'recorded'])
  assertId(id)
  if (!isUnits(units)) throw invalid('units', `must be units from 0 to ${MAX_UNITS}`)
  const change = await runStep(account, SETTLE_HOLD, { id, units }, markKey(id))
  if (change.outcome === 'applied') {
    const reserved = options.recorded === false ? 0 : change.owed
    tellSettled(account, subject, { id, reserved, actual: units })
  }
  return changeOf(change)
}

/** Tells listeners of a settlement. The process that knew the request is gone. */
function tellSettled(
  { runtime, compiled }: Account,
  subject: Subject,
  {
    id,
    reserved,
    actual,
  }: { readonly id: string; readonly reserved: number; readonly actual: number },
): void {
  const { events, clock } = runtime
  const { name, unit } = compiled.policy
  const more = actual - reserved
  events.settled?.({
    id,
    charges: [{ policy: name, units: reserved }],
    origin: {
      subject: { ...UNKNOWN_REQUEST, ...subject },
      plan: undefined,
      at: clock(),
      limits: { [name]: 0 },
    },
    returned: more < 0 ? { [unit]: -more } : {},
    overrun: more > 0 ? { [unit]: more } : {},
    corrections: more === 0 ? [] : [{ policy: { name, unit }, reserved, actual }],
    wasReleased: false,
    replyWasLost: false,
  })
}

interface Added {
  readonly id: string
  readonly at: Instant
  readonly units: number
  readonly sum: 'granted' | 'adjusted'
  readonly lot: string
  readonly reason: string | undefined
}

async function addUnits(account: Account, { at, reason, ...added }: Added): Promise<CreditsChange> {
  assertId(added.id)
  const time = msOf('at', at)
  // The id of a grant must be known for as long as it may be repeated.
  if (time > account.runtime.clock() + DAY_MS) throw invalid('at', 'must not be after tomorrow')
  const data = { ...added, at: time, more: noteOf(added.id, reason) }
  return runChange(account, GRANT, data, account.idsKey)
}
