import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startNext } from './support/next-app.ts'
import { startTarget, type Target } from './support/target.ts'
import { signed } from './support/tokens.ts'

/** The part of a way's result that the tests read. Amounts are micro-dollars. */
interface WayResult {
  readonly id: string
  readonly answered: number
  readonly shortened: number
  readonly refused: number
  readonly falselyRefused: number
  readonly billed: number
  readonly overspend: number
  readonly remaining: number
  readonly leastRefused: number | null
}

interface Comparison {
  readonly budget: number
  readonly calls: number
  readonly left: number
  readonly lost: number
  readonly ways: readonly WayResult[]
}

/** The most that the estimate of one lost call may keep: 6,000 tokens in and 1,000 out. */
const LARGEST_ESTIMATE = 6_000 * 5 + 1_000 * 25

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

describe('200 streams on $1.00', () => {
  let demo: Target
  let comparison: Comparison
  let storeRequests = 0
  let token = ''
  const start = (authorization = `Bearer ${token}`) =>
    fetch(`${demo.url}/api/demo/overspend`, { method: 'POST', headers: { authorization } })
  const way = (id: string): WayResult => {
    const found = comparison.ways.find((result) => result.id === id)
    if (found === undefined) throw new Error(`There is no result of ${id}`)
    return found
  }

  beforeAll(async () => {
    demo = await startTarget(startNext)
    token = await signed({ tenant: `overspend-${randomUUID()}`, plan: 'starter' })
    const answer = await start()
    if (!answer.ok) throw new Error(`The comparison was answered with status ${answer.status}`)
    comparison = (await answer.json()) as Comparison
    storeRequests = demo.store.requests
  })
  afterAll(() => demo[Symbol.asyncDispose]())

  it('sends every way the same calls, and never the configured model', () => {
    expect(comparison).toMatchObject({ budget: 1_000_000, calls: 200, left: 20, lost: 4 })
    expect(comparison.ways.map(({ answered, refused }) => answered + refused)).toEqual([
      200, 200, 200,
    ])
    expect(demo.upstream.requests).toHaveLength(0)
    // Public visitors start it: a run is bounded.
    expect(storeRequests).toBeLessThan(5_000)
  })

  it('overspends if the cost is counted after the call', () => {
    const { answered, billed, overspend, falselyRefused } = way('check-then-count')
    expect(answered).toBe(200)
    expect(overspend).toBe(billed - 1_000_000)
    expect(overspend).toBeGreaterThan(1_000_000)
    expect(falselyRefused).toBe(0)
  })

  it('refuses calls for money that nobody has used if broken calls keep the maximum', () => {
    const { overspend, falselyRefused, billed, remaining } = way('reserve-maximum')
    expect(overspend).toBe(0)
    expect(falselyRefused).toBeGreaterThan(10)
    expect(1_000_000 - remaining - billed).toBeGreaterThan(100_000)
  })

  it('never overspends if it reserves what fits, and refuses nobody while the floor fits', () => {
    const fitted = way('reserve-and-fit')
    expect(fitted.overspend).toBe(0)
    expect(fitted.remaining).toBeLessThan(fitted.leastRefused ?? 0)
    expect(fitted.answered).toBeGreaterThan(way('reserve-maximum').answered)
    expect(fitted.falselyRefused).toBeLessThan(way('reserve-maximum').falselyRefused / 2)
    // Readers who leave cost nothing but what they have read: only lost calls keep their estimate.
    const kept = 1_000_000 - fitted.remaining - fitted.billed
    expect(kept).toBeGreaterThanOrEqual(0)
    expect(kept).toBeLessThan(comparison.lost * LARGEST_ESTIMATE)
  })

  it('comes to the figures that the READMEs name', () => {
    const page = read('../../apps/demo/README.md')
    const rows = [...page.matchAll(/^\|.+\| +(\$\d\.\d\d) \| +(\d+) \|$/gm)]
    const figures = comparison.ways.map(({ overspend, falselyRefused }) => [
      `$${(overspend / 1_000_000).toFixed(2)}`,
      falselyRefused,
    ])
    expect(rows.map(([, overspend, refused]) => [overspend, Number(refused)])).toEqual(figures)
    const [counted, , fitted] = figures
    expect(read('../../README.md')).toContain(
      `counted after each call, they overspend it by ${counted?.[0]}; reserved as here, by ${fitted?.[0]}`,
    )
  })

  it('has a button on the page, and a bar with a value in words for each mistake of each way', async () => {
    const page = await (await fetch(`${demo.url}/overspend`)).text()
    expect(page).toMatch(/<button type="button">Run 200 streams on \$1\.00<\/button>/)
    const meters = [...page.matchAll(/aria-label="(?:Overspend|False refusals), [^"]+"[^>]+>/g)]
    expect(meters).toHaveLength(6)
    for (const [meter] of meters) expect(meter).toContain('aria-valuetext="not run yet"')
  })

  it('uses the tokens of the trace', () => {
    const rows = read('../trace/azure-conv-2023.csv').trim().split('\n').slice(1)
    const every96th = rows.filter((_, index) => index % 96 === 0).slice(0, 200)
    const sample = JSON.parse(read('../../apps/demo/lib/overspend/azure-conv-sample.json')) as {
      input: number[]
      output: number[]
    }
    expect(sample.input.map((input, index) => [input, sample.output[index]])).toEqual(
      every96th.map((row) => row.split(',').slice(1).map(Number)),
    )
  })

  it('runs for tenants only, one at a time and three times a minute', async () => {
    expect((await start('')).status).toBe(401)
    const answers = await Promise.all([start(), start()])
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 429])
    expect((await start()).status).toBe(200)
    const denied = await start()
    expect(denied.status).toBe(429)
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('compares nothing while the store does not answer', async () => {
    await demo.store.down()
    expect((await start()).status).toBe(503)
    await demo.store.up()
  })
})
