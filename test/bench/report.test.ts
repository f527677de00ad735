import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Row } from '../../apps/bench/src/measure/row.ts'
import { render } from '../../apps/bench/src/report/docs.ts'
import { Progress } from '../../apps/bench/src/report/progress.ts'
import { readResults } from '../../apps/bench/src/report/result.ts'
import { markdownTable } from '../../apps/bench/src/report/table.ts'
import { SCENARIOS } from '../../apps/bench/src/scenarios/index.ts'

const pages = ['performance', 'benchmarks'].map((name) =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'),
)
const results = readResults()

describe('the pages of figures', () => {
  it('show what `npm run bench -- --write` has saved, of every scenario', () => {
    const names = SCENARIOS.map(({ name }) => name).toSorted()
    expect([...results.keys()].toSorted()).toEqual(names)
    for (const page of pages) expect(render(page, results)).toBe(page)
    const marked = pages.join('').matchAll(/<!--bench:(?!machine)(\S+)-->/g)
    // Sentences have the figures of these: see `costly.test.ts`, and the page about more than one Redis.
    const told = new Set(['answers', 'bodies', 'meter', 'scale'])
    const others = names.filter((name) => !told.has(name))
    expect(Array.from(marked, ([, name = '']) => name).toSorted()).toEqual(others)
  })
})

describe('a table', () => {
  const window: Row = {
    title: 'one window',
    unit: 'ms',
    ours: { values: [2, 4, 6], note: '4.0 commands' },
    others: { peer: { values: [1, 4, 8], bar: 1.5 }, floor: { values: [1, 1, 1] } },
  }

  it('has a line for each comparison, with the median of the ratios within a round', () => {
    expect(markdownTable([window])).toBe(
      [
        '| measurement | beside | ratio | p25–p75   | Sluice                | the other |',
        '| ----------- | ------ | ----- | --------- | --------------------- | --------- |',
        '| one window  | peer   | 1.00  | 0.88–1.50 | 4.00 ms, 4.0 commands | 4.00 ms   |',
        '| one window  | floor  | 4.00  | 3.00–5.00 | 4.00 ms, 4.0 commands | 1.00 ms   |',
      ].join('\n'),
    )
  })

  it('shows bars, and where on an axis a row is, only if it has some', () => {
    expect(markdownTable([window], { bars: true })).toContain('≤ 1.5')
    const one: Row = { ...window, at: { tenants: 10_000 } }
    expect(markdownTable([one])).toContain('| tenants: 10,000 | peer   | 1.00 ')
  })

  it('has a line for each row in brief, with the ratio to each other, and no quartiles', () => {
    expect(markdownTable([window], { brief: true })).toBe(
      [
        '| measurement | Sluice                | ÷ peer | ÷ floor |',
        '| ----------- | --------------------- | ------ | ------- |',
        '| one window  | 4.00 ms, 4.0 commands | 1.00   | 4.00    |',
      ].join('\n'),
    )
    const values = [1, 2, 3]
    const point: Row = { title: 'a window', unit: 'µs', ours: { values }, at: { tenants: 1 } }
    expect(markdownTable([point], { brief: true })).toMatch(/\| 2\.00 +\|/)
  })

  it('has a column for each place on an axis, where nothing is compared', () => {
    const point: Row = { title: 'a window', unit: 'µs', ours: { values: [1, 2, 3] } }
    const rows = [
      { ...point, at: { tenants: 100 } },
      { ...point, at: { tenants: 10_000 } },
    ]
    expect(markdownTable(rows)).toBe(
      [
        '| microseconds by tenants | 100              | 10,000           |',
        '| ----------------------- | ---------------- | ---------------- |',
        '| a window                | 2.00 (1.50–2.50) | 2.00 (1.50–2.50) |',
      ].join('\n'),
    )
  })
})

describe('progress', () => {
  it('is a line for each round where output is kept', () => {
    expect(shown(false).split('\n')).toEqual([
      '[1/3] cpu, group 1: warming up',
      '[1/3] cpu, group 1: round 1 of 2',
      '[1/3] cpu, group 1: round 2 of 2',
      '[1/3] cpu, group 2: warming up',
      '[1/3] cpu, group 2: round 1 of 2',
      '[1/3] cpu, group 2: round 2 of 2',
      '[1/3] cpu: 12 s',
      '',
    ])
  })

  it('is one line that changes on a terminal', () => {
    expect(shown(true).match(/\n/g)).toHaveLength(1)
  })
})

function shown(isTTY: boolean): string {
  let text = ''
  const progress = new Progress(2, { isTTY, write: (more) => (text += more) })
  progress.begin('cpu', 1, 3)
  for (const round of [0, 0, 1, 2, 0, 1, 2]) progress.round(round)
  progress.end(12.3)
  return text
}
