import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { median, ratios } from '../../apps/bench/src/measure/rounds.ts'
import type { Row, Unit } from '../../apps/bench/src/measure/row.ts'
import { readResults } from '../../apps/bench/src/report/result.ts'

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')
const results = readResults()
const PEER = '@upstash/ratelimit'

function rowOf(scenario: string, title: string, unit?: Unit, at?: Row['at']): Row {
  const row = results
    .get(scenario)
    ?.rows.find(
      (one) =>
        one.title === title &&
        (unit === undefined || one.unit === unit) &&
        JSON.stringify(one.at) === JSON.stringify(at),
    )
  if (row === undefined) throw new Error(`No row "${title}" of ${scenario} has been saved`)
  return row
}

const valueOf = (row: Row): number => median(row.ours.values)
const dollars = (title: string): number => valueOf(rowOf('dollars', title))
const bytes = (title: string, limit: number): number =>
  valueOf(rowOf('work', title, 'bytes', { limit }))

function ratioOf({ ours, others }: Row, name: string): number {
  const other = others?.[name]
  if (other === undefined) throw new Error(`The row is not compared with ${name}`)
  return median(ratios(ours.values, other.values))
}

/** The advice of the page, and the condition of the saved figures for it. */
const ADVICE: readonly [advice: string, holds: () => boolean][] = [
  ['A limit must hold', () => bytes('slidingWindow', 100) < 10_000],
  [
    'A limit of thousands, or one for everyone',
    () => bytes('slidingWindowCounter', 10_000) * 1_000 < bytes('slidingWindow', 10_000),
  ],
  [
    'Several limits apply to a request',
    () => ratioOf(rowOf('sequential', 'daily cap and window'), PEER) < 1,
  ],
  [
    'A server decides many requests at once',
    () =>
      ratioOf(
        rowOf('in-flight', 'AI job, 1,000 tenants', 'decisions/s'),
        'Sluice, a request for each',
      ) > 1,
  ],
  [
    'Tenants go on after a denial',
    () =>
      dollars('slidingWindow, denied, with a deny cache') * 10 < dollars('slidingWindow, denied'),
  ],
  [
    'Each process meets a limit many times a second',
    () => dollars('fixedWindow for everyone, leased') * 10 < dollars('fixedWindow, allowed'),
  ],
  [
    'A lasting server is near a Redis of yours',
    () => valueOf(rowOf('tcp', 'one after the other')) < valueOf(rowOf('sequential', 'one window')),
  ],
  [
    'Functions run in one region',
    () => {
      const { ours, others } = rowOf('sequential', 'daily cap and window')
      const bare = others?.['bare EVALSHA']?.values ?? []
      return median(ours.values) - median(bare) < 10
    },
  ],
  [
    'Functions run everywhere',
    () => dollars('fixedWindow for everyone, leased') < dollars('fixedWindow, allowed'),
  ],
]

describe('the advice of the performance page', () => {
  it('has figures for each line', () => {
    const [, list = ''] = page.split('## What to choose')
    const [advice = ''] = list.split('\n## ')
    expect(advice.match(/^- /gm)).toHaveLength(ADVICE.length)
  })

  it.each(ADVICE)('is what the figures say: %s', (advice, holds) => {
    expect(page).toContain(advice)
    expect(holds()).toBe(true)
  })
})
