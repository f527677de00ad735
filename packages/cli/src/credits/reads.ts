/* Shows balances and their journals, and audits them. */
import {
  auditCredits,
  exportCredits,
  exportedJournal,
  journal,
  type Balance,
  type BalanceLot,
  type JournalEntry,
} from '@sluice/core/credits'
import { csvLine, dollars, subjectText, timeText } from '@sluice/core/internal/text'
import { countOf, textOf } from '../command.ts'
import { refuse } from '../errors.ts'
import { table } from '../format.ts'
import { balanceOf } from './balance-of.ts'
import { readText } from './files.ts'
import { amountOf, timeOf, type CreditsAction, type CreditsTask } from './task.ts'

export const balanceAction: CreditsAction = {
  operands: [],
  takes: [],
  async run(task) {
    const found = await balanceOf(task)
    const { subject, choice, unit } = task
    return { text: balanceText(task, found), json: { subject, ...choice, unit, ...found } }
  },
}

const timeOrNone = (time: number | undefined): string => (time === undefined ? '' : timeText(time))

function balanceText(task: CreditsTask, found: Balance): string {
  const amounts = [found.available, found.held, found.abandoned, found.debt, found.balance]
  const lots = found.lots.map(({ kind, left, priority, effectiveAt, expiresAt }) => [
    kind,
    amountOf(left, task),
    String(priority ?? ''),
    timeOrNone(effectiveAt),
    timeOrNone(expiresAt),
  ])
  const holds = found.reservations.map(({ id, units, dueAt, isAbandoned }) => [
    id,
    amountOf(units, task),
    `${isAbandoned ? 'abandoned since' : 'until'} ${timeText(dueAt)}`,
  ])
  return [
    subjectText(task.subject),
    table(
      ['available', 'held', 'abandoned', 'debt', 'balance'],
      [amounts.map((units) => amountOf(units, task))],
    ),
    ...(lots.length > 0 ? ['', table(['lot', 'left', 'priority', 'from', 'expires'], lots)] : []),
    ...(holds.length > 0 ? ['', table(['reservation', 'holds', ''], holds)] : []),
  ].join('\n')
}

export const journalAction: CreditsAction = {
  operands: [],
  takes: ['since', 'after', 'top', 'csv'],
  async run(task) {
    const { limiter, subject, choice, values, unit } = task
    if (values['csv'] === true && values['json'] === true)
      refuse('--csv and --json are two forms of the result: name one')
    const since = timeOf(values, 'since')?.getTime() ?? 0
    const after = textOf(values, 'after') === undefined ? undefined : countOf(values, 'after', 0)
    const top = countOf(values, 'top', 2_000)
    const all = await journal(limiter, subject, { ...choice, after })
    const entries = all.filter(({ at }) => at >= since).slice(-top)
    if (values['csv'] === true) return { text: csvOf(entries, unit).trimEnd(), json: entries }
    const rows = entries.map((entry) => rowOf(task, entry))
    const head = ['entry', 'time', 'kind', 'amount', 'sum', 'lot', 'id', 'reason']
    const text = rows.length > 0 ? table(head, rows) : 'No entry.'
    return { text, json: { subject, ...choice, unit, entries } }
  },
}

type EntryLot = Omit<BalanceLot, 'left'>

const lotText = (lot: EntryLot | undefined): string => {
  if (!lot) return ''
  return lot.expiresAt === undefined ? lot.kind : `${lot.kind} until ${timeText(lot.expiresAt)}`
}

const rowOf = (task: CreditsTask, { seq, at, kind, units, sum, lot, id, reason }: JournalEntry) => [
  String(seq),
  timeText(at),
  kind,
  amountOf(units, task),
  amountOf(sum, task),
  lotText(lot),
  id ?? '',
  reason ?? '',
]

const COLUMNS = [
  'entry',
  'time',
  'kind',
  'amount',
  'sum',
  'unit',
  'lot',
  'priority',
  'effective_at',
  'expires_at',
  'id',
  'reason',
]

/** Returns the entries as CSV. Of micro-dollars, the amounts are dollars. */
const csvOf = (entries: readonly JournalEntry[], unit: string): string =>
  [csvLine(COLUMNS), ...entries.map((entry) => csvLine(cellsOf(entry, unit)))].join('')

function cellsOf(
  { seq, at, kind, units, sum, lot, id = '', reason = '' }: JournalEntry,
  unit: string,
) {
  const { kind: name = '', priority = '', effectiveAt, expiresAt } = lot ?? {}
  const amount = unit === 'usd' ? dollars : Number
  return [
    seq,
    isoOf(at),
    kind,
    amount(units),
    amount(sum),
    unit,
    name,
    priority,
    isoOf(effectiveAt),
    isoOf(expiresAt),
    id,
    reason,
  ]
}

const isoOf = (time: number | undefined): string =>
  time === undefined ? '' : new Date(time).toISOString()

export const auditAction: CreditsAction = {
  operands: [],
  takes: ['file'],
  async run(task) {
    const { limiter, subject, choice, values } = task
    const file = textOf(values, 'file')
    const account =
      file === undefined ? await exportCredits(limiter, subject, choice) : readText(task, file)
    const entries = exportedJournal(account)
    const faults = auditCredits(entries, { account })
    const [first, last] = [entries[0]?.seq ?? 0, entries.at(-1)?.seq ?? 0]
    const fine = `Nothing is wrong with entries ${first} to ${last}: each follows the one before, and their sum is the balance.`
    const lines = faults.length > 0 ? faults.map(({ text }) => text) : [fine]
    return {
      text: [subjectText(subject), ...lines].join('\n'),
      json: { subject, ...choice, entries: { first, last }, faults },
      exitCode: faults.length > 0 ? 1 : 0,
    }
  },
}
