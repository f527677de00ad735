import { ConfigError } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { definePrices } from '@sluice/ai'
import { pullPrices, readPriceHistory, readPrices, setPrices } from '@sluice/ai/live-prices'
import { describe, expect, it } from 'vitest'
import {
  app,
  BASE,
  costAt,
  modelsDev,
  NEW_PRICE,
  URL_OF_FEED,
  type App,
  type Cost,
} from './support.ts'

const NEW = modelsDev({ 'new-model': { input: 2, output: 20 } })

/** A feed whose text may change, and the number of times that it was read. */
function feedOf(text: string) {
  const feed = {
    text,
    reads: 0,
    answer: undefined as (() => Response | Promise<Response>) | undefined,
  }
  const fetch = async (): Promise<Response> => {
    feed.reads += 1
    return feed.answer ? feed.answer() : new Response(feed.text)
  }
  return { feed, options: { url: URL_OF_FEED, fetch } }
}

/** Makes all isolates decide in each ten seconds of a time, as busy ones do. */
async function pass({ clock }: App, seconds: number, calls: () => Promise<unknown>): Promise<void> {
  for (let second = 0; second < seconds; second += 10) {
    clock.advance(10_000)
    await calls()
    // The feed is read in the background.
    await new Promise((resolve) => void setTimeout(resolve, 5))
  }
}

const huge = (): Response => {
  const chunk = new Uint8Array(1_000_000).fill(32)
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }))
}
const text = (body: string) => (): Response => new Response(body)
const cost = (model: string, rates: Cost) =>
  text(modelsDev({ 'new-model': { input: 2, output: 20 }, [model]: rates }))

describe('a feed of prices', () => {
  it('reaches 20 isolates within a minute, and one of them reads it each ten minutes', async () => {
    const used = app(memory())
    const { feed, options } = feedOf(modelsDev({ known: { input: 1, output: 10 } }))
    const isolates = Array.from({ length: 20 }, () => used.isolate(options))
    const call = (model: string) => () => Promise.all(isolates.map((one) => one.call(model)))
    await pass(used, 60, call('known'))
    expect(feed.reads).toBe(1)
    expect((await call('new-model')()).map(({ status }) => status)).toEqual(Array(20).fill(400))
    feed.text = NEW
    await pass(used, 600, call('known'))
    expect(feed.reads).toBe(2)
    await pass(used, 60, call('known'))
    expect((await call('new-model')()).map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(await readPriceHistory(isolates[0]?.limiter as never)).toMatchObject([
      { by: 'livePrices', changes: [{ model: 'new-model' }] },
    ])
  })

  it('is read by each isolate without a store that they share', async () => {
    const { feed, options } = feedOf(NEW)
    const apps = Array.from({ length: 3 }, () => app(memory()))
    const isolates = apps.map((one) => one.isolate(options))
    for (let minutes = 0; minutes <= 10; minutes += 10) {
      await Promise.all(isolates.map((one) => one.call()))
      await expect.poll(() => feed.reads).toBe(3 * (1 + minutes / 10))
      for (const { clock } of apps) clock.advance(600_000)
    }
    for (const one of isolates) await one.call()
    for (const one of isolates) expect(await one.call('new-model')).toMatchObject({ status: 200 })
  })

  const FAULTS: readonly (readonly [
    name: string,
    answer: () => Response | Promise<Response>,
    says: string,
  ])[] = [
    ['that is broken', text('{"openai":{"models":{'), 'must be JSON'],
    ['that is a page', text('<!doctype html>'), 'must be JSON'],
    ['that is a number', text('7'), 'must be a list of prices'],
    ['that is empty', text('[]'), 'has no prices of openai, anthropic'],
    ['of other vendors', text('{"elsewhere":{"models":{}}}'), 'has no prices of openai, anthropic'],
    ['that fails', () => new Response(null, { status: 503 }), 'has answered 503'],
    ['that cannot be reached', () => Promise.reject(new Error('is unreachable')), 'is unreachable'],
    ['that is slow', () => new Promise(() => undefined), 'has not answered within 500 ms'],
    ['that never ends', () => new Response(new ReadableStream()), 'has not answered within 500 ms'],
    ['that is huge', huge, 'is larger than 10000000 bytes'],
    ['with a negative price', cost('m', { input: -1, output: 1 }), 'input must be a number from 0'],
    [
      'with a price in quotes',
      cost('m', { input: '1', output: 1 }),
      'input must be a number from 0',
    ],
    ['with half a price', cost('m', { input: 1 }), 'input and output must be given'],
    ['with a price beyond measure', cost('m', { input: 1, output: 1e300 }), 'livePrices.m.output'],
    ['with a price of no model', cost('m', { input: 1, output: 20_000 }), 'must be at most'],
    ['that is hostile', cost('known', { input: 1, output: 101 }), 'more than 10 times'],
    ['with a hostile input', cost('known', { input: 10.1, output: 10 }), 'more than 10 times'],
    [
      'with a hostile cache',
      cost('known', { input: 1, output: 10, cache_read: 11 }),
      'more than 10 times',
    ],
    [
      'with a hostile long input',
      cost('known', {
        input: 1,
        output: 10,
        context_over_200k: { input: 11, output: 10 },
      }),
      'more than 10 times',
    ],
    [
      'of ten thousand models',
      () =>
        new Response(
          modelsDev(
            Object.fromEntries(
              Array.from({ length: 10_000 }, (_, index) => [
                `model-${index}`,
                { input: 2, output: 20 },
              ]),
            ),
          ),
        ),
      'more than 2000 prices',
    ],
  ]

  it.each(FAULTS)(
    '%s changes nothing, keeps the last good one, and is reported once',
    async (_, answer, says) => {
      const used = app(memory())
      const { feed, options } = feedOf(modelsDev({ 'good-model': { input: 2, output: 20 } }))
      const one = used.isolate({ ...options, timeoutMs: 500 })
      const prices = async () => (await readPrices(one.limiter)).map(({ model }) => model)
      await one.call()
      await expect.poll(prices).toEqual(['good-model'])
      feed.answer = answer
      for (const reads of [2, 3]) {
        used.clock.advance(600_000)
        await one.call()
        await expect.poll(() => feed.reads).toBe(reads)
        await expect.poll(() => used.problems.length).toBe(1)
      }
      await expect(pullPrices(one.limiter)).rejects.toThrow(says)
      expect(await prices()).toEqual(['good-model'])
      expect(used.problems).toMatchObject([
        { code: 'invalid_configuration', message: expect.stringContaining(says) },
      ])
      expect(used.problems[0]?.message).toContain('prices.example')
      expect(await one.call('good-model', 'other')).toMatchObject({ status: 200 })
      expect(await one.charged('other')).toBe(costAt(20))
    },
  )

  it.each<[given: unknown, says: string]>([
    ['http://prices.example/', 'pullPrices.feed: must be { url }, or { text, source }'],
    [null, 'pullPrices.feed: must be { url }, or { text, source }'],
    [undefined, 'must be { url }, or { text, source }, because livePrices has no url'],
    [{}, 'pullPrices.feed.url: must be an address that begins with https:'],
    [{ url: undefined }, 'pullPrices.feed.url: must be an address that begins with https:'],
    [{ url: 'http://prices.example/' }, 'feed.url: must be an address that begins with https:'],
    [{ text: NEW }, 'pullPrices.feed.source: must be a text'],
    [{ source: 'a file' }, 'pullPrices.feed.text: must be a text'],
    [{ path: 'a file' }, 'pullPrices.feed.path: unknown option'],
  ])('is refused unless it is an address or a text with its source: %j', async (given, says) => {
    const { limiter } = app(memory()).isolate()
    const pulled = pullPrices(limiter, given as { url: string }).catch((error: unknown) => error)
    expect(await pulled).toBeInstanceOf(ConfigError)
    expect(String(await pulled)).toContain(says)
  })

  it('lowers no price, frees no model, and renames none, unless that is allowed', async () => {
    const rates = { input: 0.5, output: 5 }
    const list = {
      known: rates,
      'openai/known': rates,
      'known-2026-01-01': rates,
      free: { input: 0, output: 0 },
      ['__proto__']: rates,
      'a model\n': rates,
      'gpt-9-audio': rates,
    }
    const feed = { text: modelsDev(list), source: URL_OF_FEED }
    const { isolate } = app(memory())
    const { limiter } = isolate()
    expect((await pullPrices(limiter, feed)).changes).toEqual([])
    expect(await readPrices(limiter)).toEqual([])
    const allowed = isolate({ allowLower: true }).limiter
    const { changes } = await pullPrices(allowed, feed, { preview: true })
    expect(changes.map(({ model }) => model)).toEqual(['known', 'openai/known', 'known-2026-01-01'])
    expect(await readPrices(allowed)).toEqual([])
  })

  it('makes no model nearly free that costs as unknown ones do, unless that is allowed', async () => {
    const unknownModel = { input: 30_000_000, output: 180_000_000 }
    const base = definePrices({}, { base: BASE, unknownModel })
    const list = { cheap: { input: 0.05, output: 0.4 }, mistaken: { input: 0.002, output: 0.01 } }
    const feed = { text: modelsDev(list), source: URL_OF_FEED }
    const { isolate } = app(memory())
    const pulled = async (options: object) => {
      const { limiter } = isolate({ base, ...options })
      return (await pullPrices(limiter, feed, { preview: true })).changes.map(({ model }) => model)
    }
    expect(await pulled({})).toEqual(['cheap'])
    expect(await pulled({ allowLower: true })).toEqual(['cheap', 'mistaken'])
  })

  it('leaves alone a price that was set by hand, and drops those that it has no more', async () => {
    const { isolate } = app(memory())
    const { limiter } = isolate()
    await setPrices(limiter, { mine: NEW_PRICE })
    const source = URL_OF_FEED
    const both = modelsDev({ mine: { input: 9, output: 90 }, theirs: { input: 9, output: 90 } })
    await pullPrices(limiter, { text: both, source })
    expect(await readPrices(limiter)).toEqual([
      { model: 'mine', price: NEW_PRICE, feed: false },
      {
        model: 'theirs',
        price: { input: 9_000_000, output: 90_000_000, asOf: '2026-01-15', source },
        feed: true,
      },
    ])
    expect((await pullPrices(limiter, { text: both, source })).changes).toEqual([])
    await pullPrices(limiter, { text: NEW, source })
    expect((await readPrices(limiter)).map(({ model }) => model)).toEqual(['mine', 'new-model'])
  })
})
