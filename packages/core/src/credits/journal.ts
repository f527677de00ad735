import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import { INCLUDED, lotFacts } from '../algorithms/credit-state.ts'
import { InputError } from '../errors.ts'
import { parseJson } from '../internal/attempt.ts'
import { accountIn, type CreditsChoice } from './find-credits.ts'
import { readAccount } from './read-account.ts'

/**
 * The kind of a change. `included`: the allowance of a period began, or grew with a plan. `debt`: a settlement used more than
 * there was. `spent`: what settlements took from a lot in an hour.
 */
export type JournalKind =
  'granted' | 'included' | 'adjusted' | 'revoked' | 'expired' | 'spent' | 'debt'

/** The lot of a change. */
export interface JournalLot {
  readonly kind: 'included' | 'paid' | 'promotional'
  /** `undefined` for an allowance. */
  readonly priority: number | undefined
  /** The time from which it may be used. `undefined` for at once. */
  readonly effectiveAt: number | undefined
  /** `undefined` for never. */
  readonly expiresAt: number | undefined
}

/** A change of a balance. Units are those of the policy, such as micro-dollars; times are epoch milliseconds. */
export interface JournalEntry {
  /** Its number: 1, 2, 3, without a gap. */
  readonly seq: number
  /** The time of the change; of `spent`, the start of the hour. */
  readonly at: number
  readonly kind: JournalKind
  /** Below 0 for units that were taken. */
  readonly units: number
  /** `undefined` for a debt, and for a correction that takes. */
  readonly lot: JournalLot | undefined
  /** The sum of the units of all entries up to this one: the balance then, before open reservations. */
  readonly sum: number
  /** The id of a grant, correction or revocation. */
  readonly id: string | undefined
  readonly reason: string | undefined
}

/** Options of `journal`. */
export interface JournalOptions extends CreditsChoice {
  /** Returns the entries that follow this number, 0 for the oldest. @default the newest entries */
  readonly after?: number | undefined
  /** The most entries, from 1 to 2,000. @default 2_000, all that are kept */
  readonly limit?: number | undefined
}

/**
 * Reads the journal of a balance, the oldest entry first. The store keeps the newest 2,000: to keep all, read on from time to
 * time with `after`. Spending is summed for each lot and hour, and written with the next change after its hour. One round trip.
 *
 * @throws ConfigError When the limiter has no credits.
 * @throws InputError When the subject lacks a dimension, or a number is out of range.
 * @throws StoreError When the store fails.
 * @example
 * const newest = await journal(limiter, { tenant: 'acme' }, { limit: 20 })
 * const next = await journal(limiter, { tenant: 'acme' }, { after: newest.at(-1)?.seq ?? 0 })
 */
export async function journal<Dimension extends string>(
  limiter: Limiter<Dimension, never, never> | Limiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  options: JournalOptions = {},
): Promise<JournalEntry[]> {
  const account = await accountIn(limiter, subject, options, ['journal', 'after', 'limit'])
  const { after, limit = MAX_READ } = options
  if (after !== undefined && (!Number.isSafeInteger(after) || after < 0)) {
    throw new InputError('invalid_grant', 'after', 'must be the number of an entry, or 0')
  }
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_READ) {
    throw new InputError('invalid_grant', 'limit', `must be a whole number from 1 to ${MAX_READ}`)
  }
  const { state } = await readAccount(account, true)
  const entries = entriesOf(state?.journal ?? [])
  if (after === undefined) return entries.slice(-limit)
  return entries.filter(({ seq }) => seq > after).slice(0, limit)
}

/** The most entries that a journal keeps. */
const MAX_READ = 2_000

/** Returns the entries that these texts are, as an account stores them. */
export const entriesOf = (texts: readonly string[]): JournalEntry[] => texts.map(entryOf)

function entryOf(text: string): JournalEntry {
  const [seq, at, kind = '', units, lot = '', sum] = text.split(' ', 6)
  const note = parseJson(/^(?:\S+ ){6}([^]+)$/.exec(text)?.[1] ?? '')
  const { id, reason } = (note ?? {}) as Partial<JournalEntry>
  return {
    seq: Number(seq),
    at: Number(at),
    kind: kind as JournalKind,
    units: Number(units),
    lot: journalLotOf(lot),
    sum: Number(sum),
    id,
    reason,
  }
}

function journalLotOf(name: string): JournalLot | undefined {
  if (name === '-') return undefined
  if (name.startsWith(INCLUDED)) {
    const expiresAt = Number(name.slice(INCLUDED.length + 1))
    return { kind: INCLUDED, priority: undefined, effectiveAt: undefined, expiresAt }
  }
  const { priority, effective, expires, kind } = lotFacts(name)
  return {
    kind: kind as JournalLot['kind'],
    priority,
    effectiveAt: effective || undefined,
    expiresAt: expires || undefined,
  }
}
