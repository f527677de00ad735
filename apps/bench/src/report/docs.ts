import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { factsText } from './facts.ts'
import type { Result } from './result.ts'
import { markdownTable } from './table.ts'

const PAGE = fileURLToPath(new URL('../../../../docs/performance.md', import.meta.url))

/** Returns the page with the tables of these results between its markers. */
export function render(page: string, results: ReadonlyMap<string, Result>): string {
  let text = page
  for (const result of results.values()) {
    text = fill(text, result.scenario, [markdownTable(result.rows), facts(result)])
  }
  return text
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

const facts = ({ rounds, load: [before, after], facts: machine }: Result): string =>
  `Rounds: ${rounds}; load ${before} to ${after}. ${factsText(machine)}.`
