import { InputError } from '@sluice/core'
import {
  definePrices,
  findPrice,
  joinPrices,
  LIST_PRICES,
  priceOf,
  type ModelPrice,
  type Prices,
} from '@sluice/ai'
import { withTiers } from '@sluice/ai/tiers'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'

const dear: ModelPrice = { input: 10_000_000, cachedInput: 1_000_000, output: 50_000_000 }
const row: ModelPrice = { input: 1_000, output: 2_000 }

const codeOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    expect(error).toBeInstanceOf(InputError)
    return (error as InputError).code
  }
}

describe('a table of prices', () => {
  it('extends another and replaces the models that it lists itself', () => {
    const own = definePrices(
      { 'gpt-4o': { input: 2_000_000, output: 8_000_000 }, mine: { input: 1_000, output: 2_000 } },
      { base: LIST_PRICES },
    )
    expect(findPrice('gpt-4o-2024-08-06', own).input).toBe(2_000_000)
    expect(findPrice('openai/gpt-4o-mini', own).input).toBe(150_000)
    expect(findPrice('mine', own)).toEqual({ input: 1_000, output: 2_000 })
    expect(findPrice('gpt-4o', LIST_PRICES).input).toBe(2_500_000)
  })

  it('has a price for models that are not listed, if you name one', () => {
    const own = definePrices({}, { base: LIST_PRICES, unknownModel: dear })
    expect(priceOf({ input: 1_000_000, output: 0 }, 'whatever', own)).toBe(10_000_000)
    expect(priceOf({ input: 1_000_000, output: 0 }, undefined, own)).toBe(10_000_000)
    expect(priceOf({ input: 1_000_000, output: 0 }, 'gpt-4o', own)).toBe(2_500_000)
    const further = definePrices({}, { base: own })
    expect(findPrice('whatever', further)).toEqual(dear)
    expect(
      codeOf(() => findPrice('x', definePrices({}, { base: own, unknownModel: 'deny' }))),
    ).toBe('unknown_model')
  })

  describe.each([
    ['definePrices', (base: Prices) => definePrices({ mine: row }, { base })],
    ['joinPrices', (base: Prices) => joinPrices(definePrices({ mine: row }), base)],
    ['withTiers', (base: Prices) => withTiers(base, {})],
    ['a copy', (base: Prices) => ({ ...base, unknownModel: dear })],
    ['all of them', (base: Prices) => definePrices({}, { base: withTiers(joinPrices(base), {}) })],
  ])('that is made of another by %s', (_, madeOf) => {
    const changing = new Map([['new-model', row]])
    const base: Prices = {
      ...LIST_PRICES,
      get: (name) => changing.get(name) ?? LIST_PRICES.get(name),
      spellings: (model) => [model, model.replace(/^eu\./, '')],
    }
    const table = madeOf(base)

    it('has the prices that the other has at each call', () => {
      changing.set('new-model', row)
      expect(findPrice('new-model', table)).toEqual(row)
      changing.set('new-model', dear)
      expect(findPrice('new-model', table)).toEqual(dear)
      expect(priceOf({ input: 1_000_000, output: 0 }, 'new-model', table)).toBe(10_000_000)
    })

    it('finds a model by the spellings of the other, which counts it under one name', () => {
      expect(table.nameOf('eu.gpt-4o')).toBe('gpt-4o')
      expect(findPrice('eu.gpt-4o', table).input).toBe(2_500_000)
      expect(table.nameOf('us.gpt-4o')).toBeUndefined()
    })
  })

  it('joins others, each with its own spellings, and the first of them applies', () => {
    const dated = { ...dear, asOf: '2026-11-01' }
    const regional = {
      ...definePrices({ 'gpt-4o': dear, 'gpt-4o-2024-08-06': dated }),
      spellings: (model: string) => [model, model.replace(/^eu\./, '')],
    }
    const joined = definePrices({ own: row }, { base: joinPrices(regional, LIST_PRICES) })
    expect(findPrice('eu.gpt-4o', joined)).toEqual(dear)
    expect(findPrice('gpt-4o-2024-08-06', joined)).toEqual(dated)
    expect(findPrice('gpt-4o-2024-11-20', joined)).toEqual(dear)
    expect(findPrice('claude-4.5-haiku', joined).input).toBe(1_000_000)
    // The names of one table are no spellings of another.
    expect(joined.nameOf('eu.claude-haiku-4-5')).toBeUndefined()
    expect(joined.models().get('gpt-4o')).toEqual(dear)
    expect(
      findPrice('none', joinPrices(LIST_PRICES, definePrices({}, { unknownModel: dear }))),
    ).toEqual(dear)
  })

  it('may list a model as free, and no other is', () => {
    const own = definePrices({ local: { input: 0, output: 0 } })
    expect(priceOf({ input: 9, output: 9 }, 'local', own)).toBe(0)
    expect(codeOf(() => priceOf({ input: 0, output: 0 }, 'other', own))).toBe('unknown_model')
  })

  it('may list names that every object has', () => {
    const own = definePrices(JSON.parse('{"__proto__":{"input":1000,"output":2000}}') as never)
    expect(findPrice('__proto__', own)).toEqual({ input: 1_000, output: 2_000 })
    expect(codeOf(() => findPrice('constructor', own))).toBe('unknown_model')
  })

  it('does not change when its source object changes', () => {
    const mine = { input: 1_000, output: 2_000 }
    const own = definePrices({ mine })
    mine.input = 0
    expect(findPrice('mine', own).input).toBe(1_000)
    expect(() => {
      ;(findPrice('mine', own) as { input: number }).input = 0
    }).toThrow(TypeError)
  })

  it('names every price that an unlisted model may have', () => {
    expect(() => definePrices(new Map() as never)).toThrow('must be prices by model')
    expect(() => findPrice('x', { models: new Map() } as never)).toThrow('made by definePrices')
    expect(() => definePrices({}, { unknownModel: 'allow' as 'deny' })).toThrow(
      'definePrices.options.unknownModel: must be a price or "deny"',
    )
  })

  const table = loosely(definePrices)
  const withOptions = loosely((options: never) => definePrices({}, options))
  const model = (price: unknown) => () => table({ m: price })
  const find = loosely((prices: never) => priceOf({ input: 1, output: 1 }, 'm', prices))
  const good = { input: 1_000, output: 2_000 }
  mistakesAreNamed([
    ['no table', () => table(undefined), 'definePrices'],
    ['a list', () => table([good]), 'definePrices'],
    ['a price that is a number', model(5), 'definePrices.m'],
    ['no price of output', model({ input: 1_000 }), 'definePrices.m.output'],
    ['no price of input', model({ output: 1_000 }), 'definePrices.m.input'],
    ['dollars and cents', model({ ...good, input: 2.5 }), 'definePrices.m.input'],
    ['dollars', model({ ...good, output: 15 }), 'definePrices.m.output'],
    [
      'dollars of a long input',
      model({ ...good, long: { ...good, above: 1, cachedInput: 999 } }),
      'definePrices.m.long.cachedInput',
    ],
    ['a negative price', model({ ...good, output: -1 }), 'definePrices.m.output'],
    ['a price in quotes', model({ ...good, cachedInput: '1' }), 'definePrices.m.cachedInput'],
    ['null', model({ ...good, cacheWrite: null }), 'definePrices.m.cacheWrite'],
    ['NaN', model({ ...good, longCacheWrite: Number.NaN }), 'definePrices.m.longCacheWrite'],
    ['a misspelt kind', model({ ...good, ouput: 1 }), 'definePrices.m.ouput', 'unknown_option'],
    ['long that is no price', model({ ...good, long: 5 }), 'definePrices.m.long'],
    ['long without a length', model({ ...good, long: good }), 'definePrices.m.long.above'],
    [
      'long without output',
      model({ ...good, long: { above: 1, input: 1_000 } }),
      'definePrices.m.long.output',
    ],
    ['a date that is none', model({ ...good, asOf: new Date() }), 'definePrices.m.asOf'],
    ['a name twice', () => table({ m: good, M: good }), 'definePrices.M'],
    ['a base that is none', () => withOptions({ base: { m: good } }), 'definePrices.options.base'],
    ['a table to join that is none', () => joinPrices({ m: good } as never), 'joinPrices'],
    ['null as a base', () => withOptions({ base: null }), 'definePrices.options.base'],
    ['no table to find a price in', () => find({ m: good }), 'prices'],
    ['null to find a price in', () => find(null), 'prices'],
    ['a wish', () => withOptions({ unknownModel: 'free' }), 'definePrices.options.unknownModel'],
    [
      'an unknown option',
      () => withOptions({ default: good }),
      'definePrices.options.default',
      'unknown_option',
    ],
  ])
})
