import type { LogFacts } from '../log/facts.ts'
import type { Suggestion } from '../limits/suggest-limits.ts'
import type { CreditsReport, Replay, SetReport } from '../simulation/report-types.ts'
import { ASSUMPTIONS } from './assumptions.ts'
import { count, counted, dollars, time } from './format.ts'
import { leftOutText, logNotes } from './notes.ts'
import { shadowTables } from './shadow.ts'
import { suggestionNotes } from './suggestion.ts'
import {
  balancesTable,
  comparisonTable,
  policiesTable,
  suggestionTable,
  tenantsTable,
  totalsTable,
} from './tables.ts'
import { drawTable } from './text-table.ts'

/** Writes a replay for a terminal. */
export function renderText(replay: Replay, facts: LogFacts, suggestion?: Suggestion): string {
  const { log, sets, normal } = replay
  const { calls, tokens, usd } = log.used
  const use = [
    counted(calls, 'call'),
    counted(log.tenants, 'tenant'),
    ...(log.hasTokens ? [`${count(tokens)} tokens`] : []),
    ...(usd > 0 ? [dollars(usd)] : []),
  ].join(', ')
  const comparison = comparisonTable(replay)
  const leftOut = leftOutText(facts)
  const text = [
    ...(leftOut === undefined ? [] : [leftOut]),
    `${use}, from ${time(log.from)} to ${time(log.to)} UTC`,
    drawTable(totalsTable(replay)),
    ...sets.flatMap((set) => setParts(set, sets.length > 1)),
    ...(comparison ? [drawTable(comparison)] : []),
    ...(suggestion ? suggestionParts(suggestion) : []),
    listOf('Notes', [...logNotes(replay, facts), normal, ...ASSUMPTIONS]),
  ].join('\n\n')
  return text.replace(CONTROLS, '�')
}

/** Characters by which a log could give orders to the terminal. */
const CONTROLS = /[^\P{Cc}\n]/gu

function setParts(set: SetReport, isNamed: boolean): string[] {
  const { name, tenants, normal } = set
  const parts = [drawTable(policiesTable(set))]
  if (tenants.length > 0) parts.push(drawTable(tenantsTable(tenants)))
  if (normal.hurt.length > 0) {
    parts.push(
      `Normal tenants that would have been denied:\n\n${drawTable(tenantsTable(normal.hurt))}`,
    )
  }
  parts.push(...set.credits.map(creditsPart))
  parts.push(
    ...shadowTables(set.shadow).map(({ caption, table }) => `${caption}:\n\n${drawTable(table)}`),
  )
  return isNamed ? [`== ${name}`, ...parts] : parts
}

function creditsPart(credits: CreditsReport): string {
  const { policy, balances } = credits
  const ranOut = balances.filter(({ ranOutAt }) => ranOutAt !== undefined).length
  const caption = `${count(ranOut)} of ${counted(balances.length, 'balance')} of "${policy}" would have run out:`
  return `${caption}\n\n${drawTable(balancesTable(credits))}`
}

const suggestionParts = (suggestion: Suggestion): string[] => [
  '== Smallest limits',
  drawTable(suggestionTable(suggestion)),
  listOf('', suggestionNotes(suggestion)).trimStart(),
]

const listOf = (title: string, items: readonly string[]): string =>
  [title, ...items.map((item) => `- ${item}`)].join('\n')
