import type { PolicyReport } from '@sluice/replay'
import { amountText, unitsText } from '@sluice/core/internal/text'
import { table } from '../format.ts'
import { nameText } from '../printable.ts'
import { timeText } from '../until.ts'
import type { NewDenials } from './newly-denied.ts'

/** What a change of limits would have done. */
export interface Preview {
  /** The settings that change, a line each. */
  readonly changes: readonly string[]
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
  /** The new limits that are never full. */
  readonly unreached: readonly PolicyReport[]
  readonly notes: readonly string[]
}

const HEAD = ['tenant', 'calls', 'tokens', 'dollars', 'by', 'since']

/** Returns a preview for a terminal. */
export const previewText = (preview: Preview, top: number): string =>
  [
    ...preview.changes,
    ...(preview.changes.length > 0 ? [''] : []),
    ...summary(preview),
    ...(preview.newlyDenied.calls > 0 ? ['', table(HEAD, rowsOf(preview, top))] : []),
    ...moreOf(preview, top),
    ...unreachedOf(preview),
    '',
    ...preview.notes,
  ].join('\n')

/** Returns a preview as Markdown, for a comment on a pull request. */
export const previewComment = (preview: Preview, top: number): string =>
  [
    '### What these limits would have done',
    '',
    ...preview.changes.map((line) => `- ${escaped(line)}`),
    ...(preview.changes.length > 0 ? [''] : []),
    ...summary(preview).map((line) => `${escaped(line)}  `),
    ...(preview.newlyDenied.calls > 0
      ? [
          '',
          markdownRow(HEAD),
          markdownRow(HEAD.map(() => '---')),
          ...rowsOf(preview, top).map(markdownRow),
        ]
      : []),
    ...moreOf(preview, top).map(escaped),
    ...unreachedOf(preview).map(escaped),
    '',
    ...preview.notes.map((note) => `<sub>${escaped(note)}</sub>  `),
  ].join('\n')

function summary({ log, stillDenied, nowAllowed, newlyDenied }: Preview): string[] {
  const { calls, usd, covered, tenants } = newlyDenied
  const range =
    log.from === undefined || log.to === undefined
      ? ''
      : `, ${timeText(new Date(log.from))} to ${timeText(new Date(log.to))}`
  const kept = usd > 0 ? `, which cost ${dollars(usd)}` : ''
  return [
    `Of ${amountText(log.calls, 'call')}${range}:`,
    calls === 0
      ? 'No call is denied that is allowed now.'
      : `Newly denied: ${amountText(calls, 'call')} of ${amountText(tenants.length, 'tenant')}${kept}.`,
    ...(covered > 0
      ? [`Of these, the budgets in dollars have room for ${amountText(covered, 'call')}.`]
      : []),
    `Denied as now: ${amountText(stillDenied, 'call')}. No longer denied: ${amountText(nowAllowed, 'call')}.`,
  ]
}

const rowsOf = ({ newlyDenied }: Preview, top: number): string[][] =>
  newlyDenied.tenants
    .slice(0, top)
    .map(({ tenant, calls, tokens, usd, policy, since }) => [
      nameText(tenant),
      String(calls),
      String(tokens),
      dollars(usd),
      policy,
      timeText(new Date(since)),
    ])

const moreOf = ({ newlyDenied: { tenants } }: Preview, top: number): string[] =>
  tenants.length > top ? [`and ${tenants.length - top} more: --top ${tenants.length}`] : []

function unreachedOf({ unreached }: Preview): string[] {
  const lines = unreached.map(({ name, calls, fullest }) =>
    calls === 0
      ? `${name} takes part in no call.`
      : `${name} is never full: at most ${Math.ceil(fullest * 100)} % of it is used.`,
  )
  return lines.length === 0 ? [] : ['', ...lines]
}

/** Costs are estimates: whole cents say enough. */
const dollars = (usd: number): string => unitsText(Math.round(usd / 10_000) * 10_000, 'usd')

/** A name must not end a cell, or be taken for HTML, a link or a mention. */
const escaped = (text: string): string =>
  text.replaceAll(/[\\|<>&@[\]`*_#~]/g, (one) => `&#${one.codePointAt(0)};`)

const markdownRow = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`
