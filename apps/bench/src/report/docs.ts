import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Row } from '../measure/row.ts'
import { machineText } from './facts.ts'
import type { Result } from './result.ts'
import { markdownTable } from './table.ts'

const PAGES = ['performance', 'benchmarks'].map((name) =>
  fileURLToPath(new URL(`../../../../docs/${name}.md`, import.meta.url)),
)

/** Returns the page with the machine and, of these results, the tables that it has markers for. */
export function render(page: string, results: ReadonlyMap<string, Result>): string {
  const [first] = results.values()
  if (first === undefined) return page
  const machine = machineText(first.facts)
  let text = fill(page, 'machine', [`Machine: ${machine}.`])
  for (const result of results.values()) {
    if (!page.includes(beginOf(result.scenario))) continue
    const isOmitted = OMITTED[result.scenario] ?? (() => false)
    const rows = result.rows.filter((row) => !isOmitted(row)).map(withoutOmitted)
    const table = markdownTable(rows, { brief: true })
    text = fill(text, result.scenario, [table, measuredAt(result, machine)])
  }
  return text
}

/** The rows that are saved and on no page, by scenario: they repeat what others show, or nobody chooses by them. */
const OMITTED: Readonly<Record<string, (row: Row) => boolean>> = {
  cpu: ({ title }) => title.endsWith('with a listener'),
  dollars: ({ title }) =>
    /^slidingWindows, three|^dailyCap and|^(?:token|slidingWindowC).*denied$/.test(title),
  gateway: ({ title }) =>
    /^stream: (?!CPU without a store$)|with the log|trips with|CPU of Redis/.test(title),
  'in-flight': ({ title }) =>
    /: CPU of the|: commands$|without batched|^AI job, 8.*CPU|one caller/.test(title),
  next: ({ title }) => title === 'a whole request',
  objects: ({ title }) => /p99|one tenant/.test(title),
  script: ({ title }) => /^daily cap|denied$/.test(title),
  sequential: ({ title }) => title.endsWith('denied'),
  work: ({ unit, at }) =>
    unit === 'bytes' || [1_000, 100_000].includes(at?.['tenants'] ?? 0) || at?.['limit'] === 100,
}

/** Others that are saved and on no page. */
const OMITTED_OTHERS: ReadonlySet<string> = new Set(['Sluice without batched'])

function withoutOmitted(row: Row): Row {
  if (row.others === undefined) return row
  const others = Object.entries(row.others).filter(([name]) => !OMITTED_OTHERS.has(name))
  return { ...row, others: Object.fromEntries(others) }
}

/** Writes the results between the markers of the pages. */
export function writeDocs(results: ReadonlyMap<string, Result>): void {
  for (const page of PAGES) writeFileSync(page, render(readFileSync(page, 'utf8'), results))
}

const beginOf = (name: string): string => `<!--bench:${name}-->`

/** Replaces what is between two markers. @throws Error When the page does not have them. */
function fill(page: string, name: string, blocks: readonly string[]): string {
  const [begin, end] = [beginOf(name), `<!--end:${name}-->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`The page has no "${begin}" … "${end}"`)
  return `${page.slice(0, from)}${[begin, ...blocks, ''].join('\n\n')}${page.slice(to)}`
}

/** Names the machine only if it is another one than that of the page. */
function measuredAt({ rounds, facts }: Result, machine: string): string {
  const own = machineText(facts)
  const where = own === machine ? '' : ` ${own}.`
  return `${facts.day}, ${rounds} rounds.${where}`
}
