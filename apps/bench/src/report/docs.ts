import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { adviceTable } from './advice.ts'
import { factsText } from './facts.ts'
import { Figures } from './figures.ts'
import { plotsOf } from './plots.ts'
import type { Result } from './result.ts'
import { markdownTable } from './table.ts'

const DOCS = fileURLToPath(new URL('../../../../docs', import.meta.url))

/** The folder of the plots, below the docs. */
const PLOTS = 'plots'

/** Returns the files below `docs` that show the results: the page, and its plots. */
export async function render(
  page: string,
  results: ReadonlyMap<string, Result>,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>()
  let text = fill(page, 'advice', [adviceTable(new Figures(results))])
  for (const result of results.values()) {
    const plots = await plotsOf(result)
    for (const { file, svg } of plots) files.set(`${PLOTS}/${file}`, svg)
    const pictures = plots.map(
      ({ file, title }) =>
        `![Plot: ${title}. Its figures are in the table below.](${PLOTS}/${file})`,
    )
    text = fill(text, result.scenario, [...pictures, markdownTable(result.rows), facts(result)])
  }
  return files.set('performance.md', text)
}

/** Writes the results between the markers of docs/performance.md, and the plots beside it. */
export async function writeDocs(results: ReadonlyMap<string, Result>): Promise<void> {
  const page = readFileSync(join(DOCS, 'performance.md'), 'utf8')
  const files = await render(page, results)
  // A plot whose scenario is gone goes, too.
  rmSync(join(DOCS, PLOTS), { recursive: true, force: true })
  mkdirSync(join(DOCS, PLOTS))
  for (const [name, content] of files) {
    writeFileSync(join(DOCS, name), content)
  }
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
