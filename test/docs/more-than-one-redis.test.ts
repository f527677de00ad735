import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const page = read('docs/more-than-one-redis.md')
const text = page.replaceAll('\n', ' ')

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

it('says of each part what the benchmark has measured', () => {
  const rows = tableOf(page, 'part')
  for (const [part, micros] of Object.entries(MICROS)) {
    expect(rows.get(part)).toMatchObject({ 'CPU of a decision': `${micros.toFixed(1)} µs` })
  }
  const objects = measured('objects', '32 in flight, one tenant')
  expect(text).toContain(`A Durable Object decides some ${toHundreds(objects)} a second`)
})

it.each([1_000, 100_000, 1_000_000])('needs, for %i a second, twice the least machines', (rate) => {
  const machines = (part: string): number => Math.ceil((rate * microsOf(part) * 2) / 1_000_000)
  const [masters, cores] = ['a master of a cluster', 'a process, with a cluster'].map(machines)
  const stated = new RegExp(
    `${rate.toLocaleString('en')}(?: decisions a second)?, (\\d+) masters? and (\\d+) core`,
  )
  expect(stated.exec(text)?.slice(1).map(Number)).toEqual([masters, cores])
})

it('states the bill that the benchmark and the page of objects compute', () => {
  const leased = measured('dollars', 'fixedWindow for everyone, leased').toFixed(2)
  expect(text).toContain(`$${leased} by a leased fixed window`)
  const objects = tableOf(read('docs/without-redis.md'), 'call')
  const bill = objects.get('a check that is allowed, two policies')?.['a million']
  expect(text).toContain(`[Durable Objects](without-redis.md#what-it-costs), ${bill}.`)
})
