import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Row } from '../../apps/bench/src/measure/row.ts'
import { ADVICE } from '../../apps/bench/src/report/advice.ts'
import { render } from '../../apps/bench/src/report/docs.ts'
import { Figures } from '../../apps/bench/src/report/figures.ts'
import { plotsOf } from '../../apps/bench/src/report/plots.ts'
import { Progress } from '../../apps/bench/src/report/progress.ts'
import { readResults, type Result } from '../../apps/bench/src/report/result.ts'
import { markdownTable } from '../../apps/bench/src/report/table.ts'
import { SCENARIOS } from '../../apps/bench/src/scenarios/index.ts'

const docs = fileURLToPath(new URL('../../docs', import.meta.url))
const page = readFileSync(join(docs, 'performance.md'), 'utf8')
const results = readResults()

describe('the performance page', () => {
  it('shows what `npm run bench -- --write` has saved, of every scenario', async () => {
    expect([...results.keys()].toSorted()).toEqual(SCENARIOS.map(({ name }) => name).toSorted())
    const files = await render(page, results)
    const plots = globSync('plots/*.svg', { cwd: docs })
    expect([...files.keys()].toSorted()).toEqual(['performance.md', ...plots].toSorted())
    for (const [name, content] of files) {
      expect(readFileSync(join(docs, name), 'utf8')).toBe(content)
    }
  })
})

describe('the advice', () => {
  it.each(ADVICE)('to choose $choose is what the figures say', ({ holds }) => {
    expect(holds(new Figures(results))).toBe(true)
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

describe('a plot', () => {
  it.each([
    ['bars', [row({})], 'figures', 'microseconds'],
    ['ratios', [row({})], 'ratios', 'Sluice’s figure ÷ the other’s'],
    ['lines', [row({ at: { tenants: 100 } }), row({ at: { tenants: 1e6 } })], 'figures', 'tenants'],
  ] as const)('of %s has a title, axes, a text alternative and dark colours', async (...the) => {
    const [, rows, plot, axis] = the
    const [first] = await drawn(rows, plot)
    const svg = first?.svg ?? ''
    expect(svg).toMatch(/^<svg [^>]*role="img"/)
    expect(svg).toContain('<title id="title">some &amp; &lt;all></title>')
    expect(svg).toMatch(/<desc id="description">[^<]*a window, peer: [^<]+<\/desc>/)
    expect(svg).toContain(axis)
    expect(svg).toContain('prefers-color-scheme:dark')
    expect(svg).not.toMatch(/NaN|undefined/)
    // Every colour in use has one for the dark.
    for (const [, colour] of svg.matchAll(/(?:fill|stroke)="(#[0-9a-f]+)"/g)) {
      expect(svg).toContain(`[fill="${colour}"]{fill:`)
    }
  })

  it('is drawn for each unit and each axis', async () => {
    const rows = [row({}), row({ unit: 'ms' }), row({ at: { limit: 20 } }), row({ unit: 'bytes' })]
    const plots = await drawn(rows)
    expect(plots.map(({ file }) => file)).toHaveLength(4)
    expect(new Set(plots.map(({ file }) => file)).size).toBe(4)
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

const drawn = async (rows: readonly Row[], plot: Result['plot'] = 'figures') =>
  plotsOf({ ...([...results.values()][0] as Result), rows, plot, title: 'some & <all>' })

const row = (more: Partial<Row>): Row => ({
  title: 'a window',
  unit: 'µs',
  ours: { values: [2, 3] },
  others: { peer: { values: [4, 5] } },
  ...more,
})

function shown(isTTY: boolean): string {
  let text = ''
  const progress = new Progress(2, { isTTY, write: (more) => (text += more) })
  progress.begin('cpu', 1, 3)
  for (const round of [0, 0, 1, 2, 0, 1, 2]) progress.round(round)
  progress.end(12.3)
  return text
}
