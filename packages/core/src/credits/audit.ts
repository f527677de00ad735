/* Faults of a journal and of its account: each entry must follow the one before, and all together must be the balance. */
import type { JournalEntry, JournalKind } from './journal.ts'
import { MAX_ENTRIES, type CreditState, type Part } from '../algorithms/credit-state.ts'
import { entriesOf } from './journal.ts'
import { parseExport, type ReadExport } from './export-text.ts'
import { GRANT_IDS_MS, MAX_GRANT_IDS } from './bounds.ts'

/** A fault that `auditCredits` has found. */
export interface CreditsFault {
  /** The number of the entry at fault. `undefined` for a fault of the account. */
  readonly seq: number | undefined
  readonly text: string
}

/** Options of `auditCredits`. */
export interface AuditOptions {
  /** The account, as text of `exportCredits`: the entries must end with it. @default the entries alone are audited */
  readonly account?: string
  /** The number of the first entry. @default 1, or the oldest that the store keeps if there are as few */
  readonly from?: number
}

/**
 * Finds entries of a journal that were deleted, doubled, reordered or have another amount; with the account, entries that are
 * missing at the end and a balance that is not their sum, too. The amount of the first entry is known only if its number is 1.
 *
 * @returns The faults. Empty if there are none.
 * @throws InputError `invalid_export` When `account` is no text of `exportCredits`.
 * @example
 * const account = await exportCredits(limiter, { tenant: 'acme' })
 * for (const { text } of auditCredits(exportedJournal(account), { account })) console.error(text)
 */
export function auditCredits(
  entries: readonly JournalEntry[],
  { account, from }: AuditOptions = {},
): CreditsFault[] {
  const state = account === undefined ? undefined : parseExport(account).state
  const faults = chainFaults(entries)
  const first = entries[0]?.seq
  // The store keeps the newest entries, and drops older ones.
  const kept = Math.max(
    1,
    (state ? state.sums.entries : (entries.at(-1)?.seq ?? 0)) - MAX_ENTRIES + 1,
  )
  const start = from ?? (first !== undefined && first <= kept ? first : kept)
  if (first !== undefined && first > start) faults.unshift(missing(start, first - 1))
  return state ? [...faults, ...endFaults(entries, state), ...accountFaults(state)] : faults
}

/** Returns the faults of an account and of the entries that it has. */
export const auditState = (state: CreditState): CreditsFault[] => {
  const entries = entriesOf(state.journal)
  const kept = Math.min(state.sums.entries, MAX_ENTRIES)
  if (entries.length < kept) return [missing(state.sums.entries - kept + 1, state.sums.entries)]
  return [...chainFaults(entries), ...endFaults(entries, state), ...accountFaults(state)]
}

/**
 * Returns the faults of the ids in an export: each recent grant of the journal has its id, without which it would count again
 * when it is repeated. Many ids may have been forgotten to make room. An id that was forgotten may have been used again: it is
 * that of its latest entry.
 */
export function auditIds({ state, ids, at }: ReadExport): CreditsFault[] {
  const isFull = Object.keys(ids).length > MAX_GRANT_IDS / 2
  const latest = new Map<string, JournalEntry>()
  for (const entry of entriesOf(state.journal)) {
    const { kind, id } = entry
    if (id !== undefined && (kind === 'granted' || kind === 'adjusted')) latest.set(id, entry)
  }
  return Array.from(latest).flatMap(([id, { seq, kind, units, at: grantedAt }]) => {
    const [, sum, known] = Object.hasOwn(ids, id) ? (ids[id] as string).split(' ') : []
    if (known === undefined) {
      const isRecent = grantedAt > at - GRANT_IDS_MS
      return isRecent && !isFull ? [faultOf(seq, `the id of entry ${seq} is missing`)] : []
    }
    const isSame = sum === kind && Number(known) === units
    return isSame ? [] : [faultOf(seq, `the id of entry ${seq} has another amount or kind`)]
  })
}

const faultOf = (seq: number | undefined, text: string): CreditsFault => ({ seq, text })

const missing = (first: number, last: number): CreditsFault =>
  faultOf(
    first,
    first === last ? `entry ${first} is missing` : `entries ${first} to ${last} are missing`,
  )

/** Returns the faults between each entry and the one before. */
function chainFaults(entries: readonly JournalEntry[]): CreditsFault[] {
  const faults: CreditsFault[] = []
  let before = { seq: 0, sum: 0 }
  for (const [index, { seq, units, sum }] of entries.entries()) {
    const isNext = seq === before.seq + 1
    if (![seq, units, sum].every(Number.isSafeInteger)) {
      faults.push(faultOf(seq, `entry ${seq} has a number that is not whole`))
    } else if (index > 0 && seq === before.seq) {
      faults.push(faultOf(seq, `entry ${seq} is there twice`))
    } else if (index > 0 && seq < before.seq) {
      faults.push(faultOf(seq, `entry ${seq} comes after entry ${before.seq}`))
    } else if (index > 0 && !isNext) {
      faults.push(missing(before.seq + 1, seq - 1))
    } else if (isNext && sum !== before.sum + units) {
      const moved = sum - before.sum
      faults.push(faultOf(seq, `entry ${seq} is of ${units} units, but the sum moves by ${moved}`))
    }
    before = { seq, sum }
  }
  return faults
}

/** Returns the faults between the entries and the sums of their account. */
function endFaults(entries: readonly JournalEntry[], { sums, spent }: CreditState): CreditsFault[] {
  const { seq = 0, sum = 0 } = entries.at(-1) ?? {}
  if (seq < sums.entries) return [missing(seq + 1, sums.entries)]
  if (seq > sums.entries) {
    return [faultOf(seq, `entry ${seq} is later than the account, which has ${sums.entries}`)]
  }
  const faults = equal(seq, 'the sum of the last entry', sum, sums.logged)
  if (entries[0]?.seq !== 1) return faults
  const totalOf = (...kinds: readonly JournalKind[]): number =>
    entries.reduce((total, entry) => total + (kinds.includes(entry.kind) ? entry.units : 0), 0)
  return [
    ...faults,
    ...equal(undefined, 'units granted', totalOf('granted', 'included'), sums.granted),
    ...equal(undefined, 'units adjusted', totalOf('adjusted'), sums.adjusted),
    ...equal(undefined, 'units revoked', -totalOf('revoked'), sums.revoked),
    ...equal(undefined, 'units expired', -totalOf('expired'), sums.expired),
    ...equal(undefined, 'units settled', total(spent) - totalOf('spent', 'debt'), sums.settled),
  ]
}

/** Returns the faults of an account in itself. */
function accountFaults({ sums, lots, spent, holds }: CreditState): CreditsFault[] {
  const { granted, adjusted, revoked, expired, settled, held, debt, included, logged } = sums
  const changed = granted + adjusted - revoked - expired - settled
  const open = Object.values(holds)
  const left = lots.reduce((all, lot) => all + lot.left, included)
  const counts = [held, debt, included, ...lots.map((lot) => lot.left)]
  return [
    ...equal(undefined, 'the sum of the journal', logged - total(spent), changed),
    ...equal(undefined, 'units of open reservations', sumOf(open.map(({ units }) => units)), held),
    ...open.flatMap(({ units, parts }) =>
      equal(undefined, 'lots of a reservation', total(parts), units),
    ),
    ...equal(undefined, 'the balance', left - debt, changed - held),
    ...(counts.every((count) => count >= 0) ? [] : [faultOf(undefined, 'a number is below 0')]),
  ]
}

function equal(
  seq: number | undefined,
  name: string,
  found: number,
  expected: number,
): CreditsFault[] {
  // NaN is no number of anything.
  if (found === expected) return []
  return [faultOf(seq, `${name}: ${found}, but the account has ${expected}`)]
}

const sumOf = (units: readonly number[]): number => units.reduce((all, one) => all + one, 0)

const total = (parts: readonly Part[]): number => sumOf(parts.map(([, units]) => units))
