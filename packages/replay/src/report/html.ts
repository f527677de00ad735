import type { LogFacts } from '../log/facts.ts'
import type { Suggestion } from '../limits/suggest-limits.ts'
import type { Replay } from '../simulation/report-types.ts'
import { escapeHtml } from './escape-html.ts'
import {
  notesSection,
  setSection,
  shadowSection,
  suggestionSection,
  summarySection,
  type Section,
} from './sections.ts'
import { STYLE } from './style.ts'

export { shadowSection } from './sections.ts'
export type { Section } from './sections.ts'

/** The parts of a report. */
export interface ReportInput {
  /** The name of the log. */
  readonly title: string
  readonly replay: Replay
  readonly facts: LogFacts
  readonly suggestion?: Suggestion | undefined
  /** Sections of your own, before the notes. Their HTML is taken as it is. @default none */
  readonly sections?: readonly Section[] | undefined
}

/**
 * Writes a replay as one page of HTML with plots, light and dark, that loads nothing.
 *
 * @example
 * const page = await renderHtml({ title: 'requests.csv', replay: result, facts: log.facts })
 */
export async function renderHtml(input: ReportInput): Promise<string> {
  const { title, replay, facts, suggestion, sections = [] } = input
  const all: Section[] = [summarySection(replay)]
  for (const set of replay.sets) {
    all.push(await setSection(set, replay))
    if (set.shadow.length > 0) all.push(shadowSection(`In shadow: ${set.name}`, set.shadow))
  }
  if (suggestion) all.push(suggestionSection(suggestion))
  all.push(...sections, notesSection(replay, facts))
  return renderPage(`Replay of ${title}`, all)
}

function renderPage(title: string, sections: readonly Section[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(title)}</title>
<style>
${STYLE}
</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${sections.map(({ heading, html }) => `<section>\n<h2>${escapeHtml(heading)}</h2>\n${html}\n</section>`).join('\n')}
</main>
</body>
</html>
`
}
