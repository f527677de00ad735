import type { Limiter } from '../limiter/limiter.ts'
import type { Subject } from '../subject.ts'
import { systemClock } from '../clock.ts'
import { InputError, type InputErrorCode } from '../errors.ts'
import { ACCOUNT } from '../algorithms/credit-state.ts'
import { fieldsOf } from './account-fields.ts'
import { auditIds, auditState } from './audit.ts'
import { parseExport, textOfExport, type ReadExport } from './export-text.ts'
import { accountIn, type Account, type CreditsChoice } from './find-credits.ts'
import { entriesOf, type JournalEntry } from './journal.ts'
import { readAccount } from './read-account.ts'
import { PUT } from './read.ts'
import { REMOVE } from './remove.ts'

type AnyLimiter<Dimension extends string> = Limiter<Dimension, never, never> | Limiter<Dimension>

/**
 * Writes a balance as JSON text: its lots, open reservations and journal, and the ids of its grants. Keep it elsewhere, so that
 * `importCredits` can restore the balance when the store has lost it. One round trip.
 *
 * @throws ConfigError When the limiter has no credits.
 * @throws InputError `balance_unknown` when the subject has no balance, or the subject lacks a dimension.
 * @throws StoreError When the store fails.
 * @example
 * await writeFile('acme.json', await exportCredits(limiter, { tenant: 'acme' }))
 */
export async function exportCredits<Dimension extends string>(
  limiter: AnyLimiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  options: CreditsChoice = {},
): Promise<string> {
  const account = await accountIn(limiter, subject, options, ['exportCredits'])
  const { now, state, ids } = await readAccount(account, true)
  if (!state)
    throw refusal('balance_unknown', 'subject', 'has no balance: nothing was granted to it')
  const { unit } = account.compiled.policy
  return textOfExport({
    format: 'sluice-credits-1',
    key: account.key,
    unit,
    at: now,
    account: fieldsOf(state),
    ids,
  })
}

/**
 * Returns the journal in a text of `exportCredits`: the newest 2,000 entries at the time of the export.
 *
 * @throws InputError `invalid_export` when the text is none of `exportCredits`.
 * @example
 * const faults = auditCredits(exportedJournal(text), { account: text })
 */
export const exportedJournal = (text: string): JournalEntry[] =>
  entriesOf(parseExport(text).state.journal)

/** The outcome of `importCredits`. */
export interface CreditsImport {
  /**
   * The time of the export (epoch ms). Grants since then are lost until they are repeated with their ids, and spending since then
   * is not in the balance.
   */
  readonly exportedAt: number
}

/**
 * Restores a balance that the store has lost, as it was when it was exported. Audits it before anything is written, and writes
 * all of it or nothing. Reservations that were open then stay charged until `settleHold` settles them, or are given back, as
 * `unsettled` says. One round trip.
 *
 * @param text The text of `exportCredits` for the same subject.
 * @throws ConfigError When the limiter has no credits.
 * @throws InputError `balance_exists` when there is a balance, `invalid_export` when the text is not of this balance, or was changed.
 * @throws StoreError When the store fails.
 * @example
 * const { exportedAt } = await importCredits(limiter, { tenant: 'acme' }, await readFile('acme.json', 'utf8'))
 */
export async function importCredits<Dimension extends string>(
  limiter: AnyLimiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  text: string,
  options: CreditsChoice = {},
): Promise<CreditsImport> {
  const account = await accountIn(limiter, subject, options, ['importCredits'])
  const { at, account: fields, ids } = exportOf(account, text)
  const { runtime, key, idsKey } = account
  const { store, clock, clockIsInjected } = runtime
  const isWritten = await store.run({
    kind: PUT,
    keys: [key, idsKey],
    near: [key],
    data: { now: clock(), clockIsInjected, fields, ids },
    startedAt: systemClock(),
  })
  if (isWritten) return { exportedAt: at }
  const reason = 'has a balance, and nothing was written: an import is for one that was lost'
  throw refusal('balance_exists', 'subject', reason)
}

/** Options of `deleteCredits`. */
export interface DeleteOptions extends CreditsChoice {
  /** The text of `exportCredits`: the balance is deleted only if it has not changed since. Keep the text. */
  readonly confirm: string
}

/**
 * Deletes a balance for good, with its journal and the ids of its grants. Stop its spending first: a settlement that comes later
 * begins a new balance with a debt. Ask twice before you call this. One round trip.
 *
 * @throws ConfigError When the limiter has no credits.
 * @throws InputError `balance_changed` when it is no longer as it was exported, `balance_held` while it has open reservations,
 *   `invalid_export` when `confirm` is no export of this balance.
 * @throws StoreError When the store fails.
 * @example
 * const text = await exportCredits(limiter, { tenant: 'acme' })
 * await writeFile('acme.json', text)
 * await deleteCredits(limiter, { tenant: 'acme' }, { confirm: text })
 */
export async function deleteCredits<Dimension extends string>(
  limiter: AnyLimiter<Dimension>,
  subject: Subject<NoInfer<Dimension>>,
  options: DeleteOptions,
): Promise<void> {
  const account = await accountIn(limiter, subject, options, ['deleteCredits', 'confirm'])
  const { account: fields, state } = exportOf(account, options.confirm)
  if (Object.keys(state.holds).length > 0) {
    const reason =
      'has open reservations, and nothing was deleted: balance lists them, and settleHold settles them'
    throw refusal('balance_held', 'subject', reason)
  }
  const { runtime, key, idsKey } = account
  const { store, clock } = runtime
  const isRemoved = await store.run({
    kind: REMOVE,
    keys: [key, idsKey],
    near: [key],
    data: { now: clock(), account: fields[ACCOUNT] ?? '' },
    startedAt: systemClock(),
  })
  if (isRemoved) return
  const reason = 'has changed since the export, and nothing was deleted: export it again'
  throw refusal('balance_changed', 'confirm', reason)
}

/** Reads an export of a balance. @throws InputError When it is of another one, or has faults. */
function exportOf({ key, compiled }: Account, text: string): ReadExport {
  const content = parseExport(text)
  const { unit } = compiled.policy
  if (content.key !== key) {
    throw refusal('invalid_export', 'text', 'is of another balance')
  }
  if (content.unit !== unit) {
    throw refusal('invalid_export', 'text', `is in ${content.unit}, and the policy counts ${unit}`)
  }
  const [fault, ...others] = [...auditState(content.state), ...auditIds(content)]
  if (!fault) return content
  const more = others.length > 0 ? `, and ${others.length} more` : ''
  throw refusal('invalid_export', 'text', `has a fault: ${fault.text}${more}`)
}

const refusal = (code: InputErrorCode, input: string, reason: string): InputError =>
  new InputError(code, input, reason)
