import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Row } from '../measure/row.ts'
import { machineText } from './facts.ts'
import type { Result } from './result.ts'
import { markdownTable } from './table.ts'

const PAGE = fileURLToPath(new URL('../../../../docs/performance.md', import.meta.url))

/** Returns the page with the machine and the tables of these results between its markers. */
export function render(page: string, results: ReadonlyMap<string, Result>): string {
  const [first] = results.values()
  if (first === undefined) return page
  const machine = machineText(first.facts)
  let text = fill(page, 'machine', [`Machine: ${machine}.`])
  for (const result of results.values()) {
    const isRepeated = REPEATED[result.scenario] ?? (() => false)
    const table = markdownTable(result.rows.filter((row) => !isRepeated(row)))
    text = fill(text, result.scenario, [table, measuredAt(result, machine)])
  }
  return text
}

/** The rows that repeat what another row or page shows, by scenario. They are saved, and not on the page. */
const REPEATED: Readonly<Record<string, (row: Row) => boolean>> = {
  'in-flight': ({ title }) => /: CPU of the client$|: commands$/.test(title),
  gateway: ({ title }) => title.startsWith('stream: trips'),
  work: ({ unit }) => unit === 'bytes',
  dollars: ({ title }) => /^slidingWindows, three|^dailyCap and slidingWindow/.test(title),
}

/** Writes the results between the markers of docs/performance.md. */
export function writeDocs(results: ReadonlyMap<string, Result>): void {
  writeFileSync(PAGE, render(readFileSync(PAGE, 'utf8'), results))
}

/** Replaces what is between two markers. @throws Error When the page does not have them. */
function fill(page: string, name: string, blocks: readonly string[]): string {
  const [begin, end] = [`<!-- bench: ${name} -->`, `<!-- end of ${name} -->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no "${begin}" … "${end}"`)
  return `${page.slice(0, from)}${[begin, ...blocks, ''].join('\n\n')}${page.slice(to)}`
}

/** Names the machine only if it is another one than that of the page. */
function measuredAt({ rounds, load: [before, after], facts }: Result, machine: string): string {
  const own = machineText(facts)
  const where = own === machine ? '' : ` ${own}.`
  return `Rounds: ${rounds}; load ${before} to ${after}; ${facts.day}.${where}`
}
