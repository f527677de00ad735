import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { median } from '../../apps/bench/src/measure/rounds.ts'
import { amount } from '../../apps/bench/src/report/numbers.ts'
import { readResults } from '../../apps/bench/src/report/result.ts'

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')
const results = readResults()

/** The sections that have a figure or two of a scenario, and no table. */
const SENTENCES: readonly [section: string, scenario: string, rows: readonly string[]][] = [
  ['Metering a stream', 'meter', ['an event a chunk', 'some 16 KB a chunk']],
  [
    'Reading a body',
    'bodies',
    ['150,000 fields of one schema: CPU', '150,000 fields of one schema: heap'],
  ],
  [
    'Passing a costly answer on',
    'answers',
    ['empty objects, 16 KB a chunk: CPU', 'one line, 16 KB a chunk: memory'],
  ],
]

/** Returns the median of a row, as tables show it. */
function figureOf(scenario: string, title: string): string {
  const row = results.get(scenario)?.rows.find((one) => one.title === title)
  if (row === undefined) throw new Error(`No row "${title}" of ${scenario} has been saved`)
  return amount(median(row.ours.values), row.unit).replace('/MB', '')
}

it.each(SENTENCES)('"%s" has the figures that the scenario %s has saved', (section, name, rows) => {
  const [text = ''] = page.split(`### ${section}\n`)[1]?.split('\n#') ?? []
  for (const title of rows) expect(text).toContain(figureOf(name, title))
})

it.each([
  ['bodies', / CPU$/],
  ['answers', / CPU$/],
])('the costliest of %s has the most of what it costs', (name, which) => {
  const rows = results.get(name)?.rows.filter(({ title }) => which.test(title)) ?? []
  const costliest = rows.toSorted((a, b) => median(b.ours.values) - median(a.ours.values))[0]
  const named = SENTENCES.find(([, scenario]) => scenario === name)?.[2][0]
  expect(costliest?.title).toBe(named)
})
