import type { LogFacts } from '../log/facts.ts'
import type { Suggestion } from '../limits/suggest-limits.ts'
import type { Replay, SetReport, ShadowPolicyReport } from '../simulation/report-types.ts'
import type { Plot } from './plot.ts'
import { ASSUMPTIONS } from './assumptions.ts'
import { escapeHtml } from './escape-html.ts'
import { htmlTable } from './html-table.ts'
import { logNotes } from './notes.ts'
import { CALLS, DOLLARS, plotOverTime, TOKENS } from './plot-over-time.ts'
import { plotTenants } from './plot-tenants.ts'
import { shadowTables } from './shadow.ts'
import { suggestionNotes } from './suggestion.ts'
import {
  comparisonTable,
  logTable,
  policiesTable,
  suggestionTable,
  tenantsTable,
  totalsTable,
} from './tables.ts'

/** A part of the page. Pages are lists of them. */
export interface Section {
  readonly heading: string
  readonly html: string
}

/** The totals, and the log that they are from. */
export function summarySection(replay: Replay): Section {
  const comparison = comparisonTable(replay)
  return {
    heading: 'Summary',
    html: [
      htmlTable(totalsTable(replay), 'What the limits would have done'),
      ...(comparison ? [htmlTable(comparison, 'Calls by the decisions of both')] : []),
      htmlTable(logTable(replay), 'The log'),
    ].join('\n'),
  }
}

/** The plots and tables of one set of limits. */
export async function setSection(set: SetReport, { log }: Replay): Promise<Section> {
  const { name, tenants, normal } = set
  const plots: Plot[] = [await plotOverTime(set, CALLS)]
  if (log.hasTokens) plots.push(await plotOverTime(set, TOKENS))
  if (log.used.usd > 0) plots.push(await plotOverTime(set, DOLLARS))
  if (tenants.length > 0) plots.push(await plotTenants(set))
  const html = [...plots.map(figure), htmlTable(policiesTable(set), 'Denials by policy')]
  if (tenants.length > 0)
    html.push(
      htmlTable(tenantsTable(tenants), 'Tenants with the most denied calls, and what that saves'),
    )
  if (normal.hurt.length > 0)
    html.push(htmlTable(tenantsTable(normal.hurt), 'Normal tenants that would have been denied'))
  return { heading: `Limits: ${name}`, html: html.join('\n') }
}

/**
 * Makes a section of the denials that policies in shadow would have made: in a replay, or as production has recorded.
 *
 * @param policies The `shadow` of a set, or the `policies` of `shadowReport` of `@sluice/usage/report`.
 * @example
 * const { policies } = shadowReport(await usage(limiter))
 * await renderHtml({ ...report, sections: [shadowSection('In production', policies)] })
 */
export function shadowSection(heading: string, policies: readonly ShadowPolicyReport[]): Section {
  const tables = shadowTables(policies).map(({ table, caption }) => htmlTable(table, caption))
  return { heading, html: tables.join('\n') || '<p>No policy was in shadow.</p>' }
}

/** The smallest limits. */
export const suggestionSection = (suggestion: Suggestion): Section => ({
  heading: 'Smallest limits',
  html:
    htmlTable(
      suggestionTable(suggestion),
      'The smallest limits that deny nobody who must not be denied',
    ) + list(suggestionNotes(suggestion)),
})

/** What the figures mean, and what is not in them. */
export const notesSection = (replay: Replay, facts: LogFacts): Section => ({
  heading: 'Notes',
  html: list([...logNotes(replay, facts), replay.normal, ...ASSUMPTIONS]),
})

const list = (items: readonly string[]): string =>
  `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join('')}</ul>`

function figure({ title, svg, table }: Plot): string {
  return `<figure>
<figcaption>${escapeHtml(title)}</figcaption>
<div class="scroll" role="group" tabindex="0" aria-label="${escapeHtml(`Plot: ${title}`)}">${svg}</div>
<details><summary>${escapeHtml(`${title}: the figures`)}</summary>${htmlTable(table, title)}</details>
</figure>`
}
