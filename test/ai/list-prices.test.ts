import { readFileSync } from 'node:fs'
import { calcPrice } from '@pydantic/genai-prices'
import { findPrice, LIST_PRICES, priceOf, type Prices } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { fileOf, modelsOf, PUBLISHED, tableText, VENDORS } from '../../scripts/prices.ts'

const require = (path: string): { readonly version: string } =>
  JSON.parse(readFileSync(new URL(`../../node_modules/${path}`, import.meta.url), 'utf8')) as never

const HOUR_MS = 3_600_000
/** The hours of that day, and a day in each month of the two years after it. */
const TIMES = [
  ...Array.from({ length: 24 }, (_, hour) => hour * HOUR_MS),
  ...Array.from({ length: 24 }, (_, month) => month * 31 * 24 * HOUR_MS),
].map((later) => new Date(Date.parse(PUBLISHED.asOf) + later))

/** The tables by vendor, as their entries export them. */
async function tableOf(vendor: string): Promise<Prices> {
  const exported = (await import(`@sluice/ai/prices/${vendor}`)) as Record<string, Prices>
  const [name, prices, ...others] = Object.entries(exported).flat()
  expect(name).toBe(`${vendor.toUpperCase().replaceAll('-', '_')}_PRICES`)
  expect(others).toEqual([])
  return prices as Prices
}

it('are those of the version that is installed', () => {
  expect(require('@pydantic/genai-prices/package.json').version).toBe(PUBLISHED.version)
})

describe.each(Object.entries(VENDORS))('the table of %s', (vendor, [providerId]) => {
  it('is what `npm run prices` writes', async () => {
    expect(readFileSync(fileOf(vendor), 'utf8')).toBe(await tableText(vendor))
  })

  it('has the day and the page of each price, and no price for a model that is not listed', async () => {
    const table = await tableOf(vendor)
    expect(table.models().size).toBeGreaterThan(4)
    for (const { asOf, source } of table.models().values()) {
      expect(asOf).toBe(PUBLISHED.asOf)
      expect(new URL(source ?? '').protocol).toBe('https:')
    }
    expect(() => findPrice('no-such-model', table)).toThrow('has no price')
  })

  it('charges what the package itself calculates, and never less', async () => {
    const table = await tableOf(vendor)
    const usages = [
      { input: 1_000_000, cachedInput: 0, cacheWrite: 0, output: 0 },
      { input: 100_000, cachedInput: 40_000, cacheWrite: 0, output: 20_000 },
      { input: 100_000, cachedInput: 0, cacheWrite: 30_000, output: 20_000 },
      { input: 120_000, cachedInput: 0, cacheWrite: 0, output: 9 },
      { input: 400_000, cachedInput: 200_000, cacheWrite: 0, output: 50_000 },
    ]
    const wrong: unknown[] = []
    for (const [model, { cachedInput, cacheWrite, output }] of table.models()) {
      for (const usage of usages) {
        // What a vendor has no price for is not told by its answers.
        if (usage.cachedInput > 0 && cachedInput === undefined) continue
        if (usage.cacheWrite > 0 && cacheWrite === undefined) continue
        // The highest of the day, where the hour decides, and of what is announced for later.
        const totals = TIMES.map((timestamp) => {
          const counted = {
            input_tokens: usage.input,
            cache_read_tokens: usage.cachedInput,
            cache_write_tokens: usage.cacheWrite,
            output_tokens: output === 0 ? 0 : usage.output,
          }
          const calculated = calcPrice(counted, model, { providerId, timestamp })
          return calculated?.total_price ?? Number.NaN
        })
        const expected = Math.max(...totals) * 1_000_000
        const ours = priceOf(usage, model, table)
        if (!(ours >= expected - 1e-6 && ours <= expected + 1 + 1e-6)) {
          wrong.push([model, usage, ours, expected])
        }
      }
    }
    expect(wrong).toEqual([])
  })
})

it('LIST_PRICES differs in these rows, for reasons that are beside them', () => {
  const theirs = new Map([...modelsOf('openai'), ...modelsOf('anthropic')])
  const differing = [...LIST_PRICES.models()].flatMap(
    ([model, { asOf = '', input, output, long }]) => {
      const rows = theirs.get(model)
      const [theirInput = 0, , theirOutput = 0] = rows?.usual ?? []
      const same =
        rows &&
        input === Math.round((theirInput ?? 0) * 1e6) &&
        output === Math.round((theirOutput ?? 0) * 1e6) &&
        long?.above === rows.above
      const days = (Date.parse(PUBLISHED.asOf) - Date.parse(asOf)) / 86_400_000
      return same ? [] : [`${model}: ${rows ? 'another price' : 'missing'}, ${days} days older`]
    },
  )
  expect(differing).toEqual([
    'claude-sonnet-4: another price, 387 days older',
    'claude-sonnet-4-0: another price, 387 days older',
    'claude-sonnet-5-5: missing, -13 days older',
    'claude-haiku-5-5: missing, -14 days older',
  ])
  expect([...theirs.keys()].filter((model) => !LIST_PRICES.models().has(model))).toEqual([])
})
