import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const page = read('docs/more-than-one-redis.md')

interface Results {
  readonly rows: readonly {
    readonly title: string
    readonly ours: { readonly values: readonly number[] }
    readonly others?: Readonly<Record<string, { readonly values: readonly number[] }>>
  }[]
}

/** Returns the median that a scenario of the benchmark has measured. */
function measured(scenario: string, title: string, other?: string): number {
  const { rows } = JSON.parse(read(`apps/bench/results/${scenario}.json`)) as Results
  const row = rows.find((one) => one.title === title)
  const values = other === undefined ? row?.ours.values : row?.others?.[other]?.values
  if (!values) throw new Error(`${scenario} has not measured ${title}`)
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

const BATCHED = 'batched, one Redis'
const MICROS: Readonly<Record<string, number>> = {
  'a Redis': measured('scale', 'CPU of Redis'),
  'a Redis, batched': measured('scale', 'CPU of Redis', BATCHED),
  'a master of a cluster': measured('scale', 'CPU of Redis', 'a cluster'),
  'a process, with one Redis': measured('scale', 'CPU of the process'),
  'a process, batched': measured('scale', 'CPU of the process', BATCHED),
  'a process, with a cluster': measured('scale', 'CPU of the process', 'a cluster'),
  'a process, from a lease': measured('leases', 'CPU of a check'),
}
const microsOf = (what: string): number => MICROS[what] ?? Number.NaN

const toHundreds = (value: number): string => (Math.round(value / 100) * 100).toLocaleString('en')

it('says of each part what the benchmark has measured, and the sum that follows', () => {
  const rows = tableOf(page, 'what')
  for (const [what, micros] of Object.entries(MICROS)) {
    expect(rows.get(what)).toMatchObject({
      'CPU of a decision': `${micros.toFixed(1)} µs`,
      'decisions a second, at most': toHundreds(1_000_000 / micros),
    })
  }
  const objects = measured('objects', '32 in flight, one tenant')
  expect(rows.get('a Durable Object, as it measured')).toMatchObject({
    'decisions a second, at most': toHundreds(objects),
  })
})

it('needs as many machines as half of that allows', () => {
  const rows = tableOf(page, 'decisions a second')
  expect([...rows.keys()]).toEqual(['1,000', '100,000', '1,000,000'])
  for (const [rate, row] of rows) {
    const machines = (what: string): string =>
      String(Math.ceil((Number(rate.replaceAll(',', '')) * microsOf(what) * 2) / 1_000_000))
    expect(row).toMatchObject({
      'masters of Redis': machines('a master of a cluster'),
      'cores of your processes': machines('a process, with a cluster'),
    })
  }
})

it('states the bill that the benchmark and the page of objects compute', () => {
  const rows = tableOf(page.slice(page.indexOf('## What a million')), 'what')
  const dollars = (what: string): string =>
    (rows.get(what)?.['a million allowed decisions'] ?? '').slice(1)
  expect(dollars('Upstash, one window')).toBe(
    measured('dollars', 'slidingWindow, allowed').toFixed(2),
  )
  expect(dollars('Upstash, a leased fixed window')).toBe(
    measured('dollars', 'fixedWindow for everyone, leased').toFixed(2),
  )
  const script = JSON.parse(read('apps/bench/results/script.json')) as {
    rows: { title: string; ours: { note?: string } }[]
  }
  const both = script.rows.find(({ title }) => title === 'daily cap and window, allowed')
  const commands = Number.parseFloat(both?.ours.note ?? '')
  expect(dollars('Upstash, a daily cap and a window')).toBe(((commands * 0.2) / 0.1).toFixed(2))
  const objects = tableOf(read('docs/without-redis.md'), 'call')
  const bill = objects.get('a check that is allowed, two policies')?.['a million']
  expect(`$${dollars('Durable Objects, a daily cap and a window')}`).toBe(bill)
})
