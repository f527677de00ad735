import { InputError } from '@sluice/core'
import { definePrices, findPrice, LIST_PRICES, priceOf, type ModelPrice } from '@sluice/ai'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

const MAX = 100_000_000_000_000
const dear: ModelPrice = {
  input: 10_000_000,
  cachedInput: 1_000_000,
  cacheWrite: 12_500_000,
  longCacheWrite: 20_000_000,
  output: 50_000_000,
}
const prices = definePrices({ dear, plain: { input: 3_000, output: 7_000 } })

const codeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    expect(error).toBeInstanceOf(InputError)
    return (error as InputError).code
  }
}

const inputPrice = (model: string): unknown => codeOf(() => findPrice(model, LIST_PRICES).input)

describe('a price', () => {
  it('is in micro-dollars, each kind of token at its own rate', () => {
    expect(priceOf({ input: 1_000, output: 200 }, 'dear', prices)).toBe(10_000 + 10_000)
    const cached = { input: 1_000, cachedInput: 600, cacheWrite: 300, longCacheWrite: 100 }
    expect(priceOf({ ...cached, output: 0 }, 'dear', prices)).toBe(1_000 + 600 + 2_500 + 2_000)
  })

  it('of cached tokens is the price of input if none is listed', () => {
    const usage = { input: 900, cachedInput: 300, cacheWrite: 300, longCacheWrite: 100 }
    expect(priceOf({ ...usage, output: 0 }, 'plain', prices)).toBe(3)
    const written = definePrices({ m: { input: 1_000, cacheWrite: 4_000, output: 0 } })
    const long = { input: 1_000, cacheWrite: 1_000, longCacheWrite: 1_000, output: 0 }
    expect(priceOf(long, 'm', written)).toBe(4)
  })

  it('has what another model used at the price of that model', () => {
    const advised = {
      input: 923,
      cachedInput: 100,
      cacheWrite: 0,
      longCacheWrite: 0,
      output: 1_612,
    }
    const otherModels = [{ ...advised, model: 'dear' }]
    const usage = { input: 2_683, cachedInput: 100, output: 2_143, otherModels }
    const dearly = 8_230 + 100 + 80_600
    const plainly = priceOf({ input: 1_760, output: 531 }, 'plain', prices)
    expect(priceOf(usage, 'plain', prices)).toBe(dearly + plainly)
    const unknown = [{ ...advised, model: 'none' }]
    expect(codeOf(() => priceOf({ ...usage, otherModels: unknown }, 'plain', prices))).toBe(
      'unknown_model',
    )
  })

  it('is that of a copy of a table with another price for models without one', () => {
    const unknownModel = { input: 7_000_000, output: 7_000_000 }
    const copy = { ...LIST_PRICES, unknownModel }
    expect(() => findPrice('mine', LIST_PRICES)).toThrow('has no price')
    expect(findPrice('mine', copy)).toEqual(unknownModel)
    expect(priceOf({ input: 1_000_000, output: 0 }, 'mine', copy)).toBe(7_000_000)
  })

  it('is rounded up, and 0 for nothing', () => {
    expect(priceOf({ input: 1, output: 0 }, 'plain', prices)).toBe(1)
    expect(priceOf({ input: 334, output: 0 }, 'plain', prices)).toBe(2)
    expect(priceOf({ input: 0, output: 0 }, 'dear', prices)).toBe(0)
  })

  it('loses no micro-dollar at large numbers and stops at 10^14', () => {
    const odd = definePrices({ odd: { input: 999_999_937, output: 1_000 } })
    // 999_999_937 * 1_000_000_007 is beyond what a double holds exactly.
    expect(priceOf({ input: 1_000_000_007, output: 0 }, 'odd', odd)).toBe(999_999_944_000)
    expect(priceOf({ input: MAX, output: MAX }, 'dear', prices)).toBe(MAX)
  })

  it('never falls when a usage grows', () => {
    const tokens = fc.nat(2_000_000)
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (input, output, more, cached) => {
        for (const model of ['dear', 'claude-haiku-4-5', 'gpt-5.4', 'claude-haiku-5-5']) {
          const table = model === 'dear' ? prices : LIST_PRICES
          const usage = { input, output, cachedInput: Math.min(cached, input) }
          const price = priceOf(usage, model, table)
          expect(Number.isInteger(price)).toBe(true)
          expect(priceOf({ ...usage, output: output + more }, model, table)).toBeGreaterThanOrEqual(
            price,
          )
          expect(priceOf({ ...usage, input: input + more }, model, table)).toBeGreaterThanOrEqual(
            price,
          )
        }
      }),
    )
  })

  it('is the one of long input for the whole request, from one token above the threshold', () => {
    const long = { input: 1_000_000, output: 1_000_000 }
    expect(priceOf({ input: 100_000, output: 100_000 }, 'claude-haiku-5-5', LIST_PRICES)).toBe(
      60_000,
    )
    expect(priceOf({ input: 100_001, output: 100_000 }, 'claude-haiku-5-5', LIST_PRICES)).toBe(
      300_001,
    )
    expect(priceOf(long, 'gpt-5.4', LIST_PRICES)).toBe(5_000_000 + 22_500_000)
  })

  it.each([-1, 0.5, Number.NaN, Infinity, MAX + 1, '5', null])(
    'of %j tokens is an error that names the field',
    (value) => {
      for (const name of ['input', 'output', 'cachedInput', 'cacheWrite', 'longCacheWrite']) {
        const usage = { input: 1, output: 1, [name]: value } as never
        expect(() => priceOf(usage, 'dear', prices)).toThrow(`usage.${name}: must be`)
        expect(codeOf(() => priceOf(usage, 'dear', prices))).toBe('invalid_cost')
      }
    },
  )
})

describe('a model’s name', () => {
  it.each([
    ['gpt-4o', 2_500_000],
    ['gpt-4o-2024-08-06', 2_500_000],
    ['gpt-4o-2024-11-20', 2_500_000],
    ['gpt-4o-2024-05-13', 5_000_000], // a snapshot with a price of its own
    ['GPT-4o', 2_500_000],
    ['openai/gpt-4o', 2_500_000],
    ['openrouter/openai/gpt-4o-2024-08-06', 2_500_000],
    ['gpt-4o-mini-2024-07-18', 150_000],
    ['claude-3-5-sonnet-20241022', 3_000_000],
    ['claude-3-5-sonnet-latest', 3_000_000],
    ['anthropic/claude-3.5-sonnet', 3_000_000],
    ['anthropic/claude-4.6-sonnet-20260217', 3_000_000],
    ['anthropic/claude-opus-4.5', 5_000_000],
    ['claude-haiku-4-5-20251001', 1_000_000],
    ['claude-sonnet-4-20250514', 3_000_000],
  ])('%s is listed', (model, input) => {
    expect(inputPrice(model)).toBe(input)
  })

  it.each([
    ['gpt-4o-audio-preview', 'another model that begins like it'],
    ['gpt-4o-mini-tts', 'another model'],
    ['gpt-4', 'listed, and no prefix of others'],
    ['gpt-4o-2024', 'no date'],
    ['gpt-4o-20240806x', 'no date'],
    ['ft:gpt-4o-2024-08-06:acme::abc', 'fine-tuned, at another price'],
    ['azure/gpt-4o', 'at another vendor’s price'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'at another vendor’s price'],
    ['claude-sonnet-4-5@20250929', 'at another vendor’s price'],
    ['evil/gpt-4o', 'of nobody known'],
    ['openai/', 'no name'],
    ['', 'no name'],
    ['constructor', 'a name that objects have'],
    ['__proto__', 'a name that objects have'],
    ['toString', 'a name that objects have'],
    ['hasOwnProperty', 'a name that objects have'],
    ['x'.repeat(1_000_000), 'too long for one'],
  ])('%.60s is %s', (model) => {
    expect(inputPrice(model)).toBe(model === 'gpt-4' ? 30_000_000 : 'unknown_model')
  })

  it('is unknown if it is missing or not a string', () => {
    for (const model of [undefined, null, 5, {}, ['gpt-4o']]) {
      expect(codeOf(() => priceOf({ input: 1, output: 1 }, model as never, LIST_PRICES))).toBe(
        'unknown_model',
      )
    }
  })

  it('does not stand in the text of the error', () => {
    expect(() => findPrice('a secret', LIST_PRICES)).toThrow(/^Sluice: model: has no price/)
  })
})

describe('the list of prices', () => {
  const list = [...LIST_PRICES.models()]

  it('gives the source and the date of each price', () => {
    expect(list.length).toBeGreaterThan(30)
    for (const [, { asOf, source }] of list) {
      expect(asOf).toMatch(/^202[5-9]-[01]\d-[0-3]\d$/)
      expect(Number.isNaN(Date.parse(asOf ?? ''))).toBe(false)
      expect(new URL(source ?? '').protocol).toBe('https:')
    }
  })

  it('has plausible prices: cached input is no dearer than input, output no cheaper', () => {
    for (const [name, price] of list) {
      for (const { input, cachedInput = 0, cacheWrite = input, output } of [
        price,
        ...(price.long ? [price.long] : []),
      ]) {
        // Embeddings have no output.
        const isUsual = output === 0 || output >= input
        expect([name, cachedInput <= input, cacheWrite >= input, isUsual]).toEqual([
          name,
          true,
          true,
          true,
        ])
      }
      expect(price.long?.input ?? Infinity).toBeGreaterThan(price.input)
    }
  })

  it('has the figures on the vendors’ pages', () => {
    expect(LIST_PRICES.models().get('claude-opus-4-5')).toMatchObject({
      input: 5_000_000,
      cachedInput: 500_000,
      cacheWrite: 6_250_000,
      longCacheWrite: 10_000_000,
      output: 25_000_000,
    })
    expect(LIST_PRICES.models().get('claude-haiku-5-5')).toMatchObject({
      input: 100_000,
      cachedInput: 10_000,
      cacheWrite: 125_000,
      longCacheWrite: 200_000,
      output: 500_000,
      long: { above: 100_000, input: 500_000, cacheWrite: 625_000, output: 2_500_000 },
    })
    expect(LIST_PRICES.models().get('gpt-5.6-terra')).toMatchObject({
      input: 2_000_000,
      cachedInput: 200_000,
      cacheWrite: 2_500_000,
      output: 12_000_000,
      long: { above: 271_999, input: 4_000_000, output: 18_000_000 },
    })
    expect(LIST_PRICES.models().get('gpt-5-nano')).toMatchObject({
      input: 50_000,
      cachedInput: 5_000,
      output: 400_000,
    })
  })
})
