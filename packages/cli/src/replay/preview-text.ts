import type { ChangeBounds, Mistake, PolicyReport, Suggestion, Table } from '@sluice/replay'
import { amountText, nameText, timeText, unitsText } from '@sluice/core/internal/text'
import { moreText, table } from '../format.ts'
import { escaped, markdownTable } from '../markdown.ts'
import { BOUNDS_HEAD, boundsRows, boundsSummary } from './bounds-text.ts'
import type { NewDenials } from './newly-denied.ts'

/** The smallest limits that deny nobody, in words too. */
export interface SmallestLimits extends Suggestion {
  readonly table: Table
  readonly notes: readonly string[]
}

/** The effects that a change of limits would have had. */
export interface Preview {
  /** The settings that change, a line each. */
  readonly changes: readonly string[]
  /** The lines and calls of the log that are left out, in words. */
  readonly leftOut: string | undefined
  readonly log: {
    readonly calls: number
    readonly from?: string | undefined
    readonly to?: string | undefined
  }
  /** Calls that the limits in force deny, too. */
  readonly stillDenied: number
  /** Calls that they deny, and the new ones allow. */
  readonly nowAllowed: number
  readonly newlyDenied: NewDenials
  /** The same in any order of the calls, if the log has sums of them: the other numbers spread them evenly. */
  readonly bounds: ChangeBounds | undefined
  /**
   * The Redis commands that one decision of each call takes at least, by the limits in force and by the new ones;
   * `undefined` if the log has sums.
   */
  readonly commands: readonly [now: number, then: number] | undefined
  readonly smallest: SmallestLimits | undefined
  /** Likely mistakes in the new limits, and in the stored settings. */
  readonly mistakes: readonly Mistake[]
  /** The new limits that are never full. */
  readonly unreached: readonly PolicyReport[]
  readonly notes: readonly string[]
}

const HEAD = ['tenant', 'calls', 'tokens', 'dollars', 'by', 'since']

/** Returns a preview for a terminal. */
export const previewText = (preview: Preview, top: number): string =>
  [
    ...(preview.leftOut === undefined ? [] : [preview.leftOut, '']),
    ...preview.changes,
    ...(preview.changes.length > 0 ? [''] : []),
    ...summary(preview),
    ...(deniedTenants(preview) > 0 ? ['', table(headOf(preview), rowsOf(preview, top))] : []),
    ...moreOf(preview, top),
    ...mistakesOf(preview),
    ...unreachedOf(preview),
    ...smallestOf(preview, ({ head, rows }) => [table(head, rows)]),
    '',
    ...preview.notes,
  ].join('\n')

/** Returns a preview as Markdown, for a comment on a pull request. */
export const previewComment = (preview: Preview, top: number): string =>
  [
    '### What these limits would have done',
    '',
    ...(preview.leftOut === undefined ? [] : [`**${escaped(preview.leftOut)}**`, '']),
    ...preview.changes.map((line) => `- ${escaped(line)}`),
    ...(preview.changes.length > 0 ? [''] : []),
    ...summary(preview).map((line) => `${escaped(line)}  `),
    ...(deniedTenants(preview) > 0
      ? ['', ...markdownTable({ head: headOf(preview), rows: rowsOf(preview, top) })]
      : []),
    ...moreOf(preview, top).map(escaped),
    ...mistakesOf(preview).map(escaped),
    ...unreachedOf(preview).map(escaped),
    ...smallestOf(preview, markdownTable, escaped),
    '',
    ...preview.notes.map((note) => `<sub>${escaped(note)}</sub>  `),
  ].join('\n')

function summary(preview: Preview): string[] {
  const { log, bounds } = preview
  const range =
    log.from === undefined || log.to === undefined
      ? ''
      : `, ${timeText(new Date(log.from))} to ${timeText(new Date(log.to))}`
  return [
    `Of ${amountText(log.calls, 'call')}${range}:`,
    ...(bounds ? [...boundsSummary(bounds), spreadSummary(preview)] : callsSummary(preview)),
    ...commandsSummary(preview),
  ]
}

function callsSummary({ stillDenied, nowAllowed, newlyDenied }: Preview): string[] {
  const { calls, usd, covered, tenants } = newlyDenied
  const kept = usd > 0 ? `, which cost ${dollars(usd)}` : ''
  return [
    calls === 0
      ? 'No call is denied that is allowed now.'
      : `Newly denied: ${amountText(calls, 'call')} of ${amountText(tenants.length, 'tenant')}${kept}.`,
    ...(covered > 0
      ? [`Of these, the budgets in dollars have room for ${amountText(covered, 'call')}.`]
      : []),
    `Denied as now: ${amountText(stillDenied, 'call')}. No longer denied: ${amountText(nowAllowed, 'call')}.`,
  ]
}

const spreadSummary = ({ stillDenied, nowAllowed, newlyDenied: { calls, usd } }: Preview): string =>
  `Spread evenly: ${amountText(calls, 'call')} newly denied (${dollars(usd)}), ${stillDenied} denied as now, ${nowAllowed} no longer denied.`

/** Upstash's price of a command, in micro-dollars: $0.20 per 100,000 (https://upstash.com/pricing/redis, November 2026). */
const COMMAND_PRICE = 2

function commandsSummary({ commands }: Preview): string[] {
  if (!commands) return []
  const [now, then] = commands.map((count) => {
    const usd = count * COMMAND_PRICE
    return `${count} (${usd < 10_000 ? unitsText(usd, 'usd') : dollars(usd)})`
  })
  const change = now === then ? ', as now' : `, now at least ${now}`
  return [`Redis commands, at $0.20 per 100,000: at least ${then}${change}.`]
}

const deniedTenants = ({ bounds, newlyDenied }: Preview): number =>
  (bounds?.newlyDenied ?? newlyDenied).tenants.length

const headOf = ({ bounds }: Preview): readonly string[] => (bounds ? BOUNDS_HEAD : HEAD)

const rowsOf = ({ bounds, newlyDenied }: Preview, top: number): string[][] =>
  bounds
    ? boundsRows(bounds.newlyDenied, top)
    : newlyDenied.tenants
        .slice(0, top)
        .map(({ tenant, calls, tokens, usd, policy, since }) => [
          nameText(tenant),
          String(calls),
          String(tokens),
          dollars(usd),
          policy,
          timeText(new Date(since)),
        ])

const moreOf = (preview: Preview, top: number): string[] => moreText(deniedTenants(preview), top)

const mistakesOf = ({ mistakes }: Preview): string[] =>
  mistakes.length === 0 ? [] : ['', 'Likely mistakes:', ...mistakes.map(({ text }) => `- ${text}`)]

function unreachedOf({ unreached, bounds }: Preview): string[] {
  const assumption = bounds ? ' if calls are spread evenly' : ''
  const lines = unreached.map(({ name, calls, fullest }) =>
    calls === 0
      ? `${name} takes part in no call.`
      : `${name} is never full${assumption}: at most ${Math.ceil(fullest * 100)} % of it is used.`,
  )
  return lines.length === 0 ? [] : ['', ...lines]
}

function smallestOf(
  { smallest }: Preview,
  draw: (table: Table) => readonly string[],
  textOf = (text: string): string => text,
): string[] {
  if (!smallest) return []
  const notes = smallest.notes.map((note) => `- ${textOf(nameText(note))}`)
  return ['', 'The smallest limits:', '', ...draw(smallest.table), '', ...notes]
}

/** Costs are estimates: whole cents say enough. */
const dollars = (usd: number): string => unitsText(Math.round(usd / 10_000) * 10_000, 'usd')
