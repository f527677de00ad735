import { createLimiter, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { definePrices, joinPrices, limitedFetch, priceOf, type FetchLike } from '@sluice/ai'
import {
  livePrices,
  readPriceHistory,
  readPrices,
  setPrices,
  undoPrices,
} from '@sluice/ai/live-prices'
import { withTiers } from '@sluice/ai/tiers'
import { withBudget } from '@sluice/ai/with-budget'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { answer, app, BASE, costAt, gate, NEW_PRICE } from './support.ts'

describe.each(STORES_TO_TEST)('live prices in %s', (name) => {
  const newStore = storesOf(name)

  it('price a model that was refused, in each of 20 isolates within a minute', async () => {
    const { clock, isolate } = app(newStore())
    const isolates = Array.from({ length: 20 }, () => isolate())
    for (const one of isolates) {
      expect(await one.call('new-model')).toMatchObject({
        status: 400,
        text: expect.stringContaining('unknown_model'),
      })
      expect(await one.call()).toMatchObject({ status: 200 })
    }
    const operator = isolate()
    await setPrices(operator.limiter, { 'new-model': NEW_PRICE }, { by: 'ann' })
    clock.advance(60_000)
    for (const [index, one] of isolates.entries()) {
      const tenant = `tenant-${index}`
      expect(await one.call('new-model', tenant)).toMatchObject({ status: 200 })
      expect(await one.charged(tenant)).toBe(costAt(20))
    }
  })

  it('follow a change of a price, and the way back', async () => {
    const { clock, isolate } = app(newStore())
    const one = isolate()
    await one.call('known', 'first')
    expect(await one.charged('first')).toBe(costAt(10))
    const { limiter } = isolate()
    await setPrices(limiter, { KNOWN: NEW_PRICE }, { by: 'ann', note: 'they said so' })
    expect(await readPrices(limiter)).toEqual([{ model: 'known', price: NEW_PRICE, feed: false }])
    // The first call after a minute reads the new version along; the end of the call has it.
    clock.advance(60_000)
    await one.call('known', 'second')
    expect(await one.charged('second')).toBe(costAt(20))

    const seen = await undoPrices(limiter, { preview: true })
    expect(seen.changes).toEqual([{ model: 'known', from: NEW_PRICE, to: undefined }])
    await undoPrices(limiter, { by: 'ben', version: seen.version })
    clock.advance(60_000)
    await one.call('known', 'third')
    await one.call('known', 'fourth')
    expect(await one.charged('fourth')).toBe(costAt(10))
    expect(await readPriceHistory(limiter)).toMatchObject([
      { by: 'ben', undoes: expect.any(String), changes: [{ model: 'known' }] },
      { by: 'ann', note: 'they said so', undoneBy: expect.any(String), version: seen.version },
    ])
  })
})

/** A store, and the number of calls to it. */
function counted(): { store: Store; calls: () => number } {
  let calls = 0
  const inner = memory()
  const store: Store = {
    accept: inner.accept,
    check: (request) => ((calls += 1), inner.check(request)),
    run: (operation) => ((calls += 1), inner.run(operation)),
    reset: (keys) => ((calls += 1), inner.reset(keys)),
  }
  return { store, calls: () => calls }
}

describe('live prices', () => {
  it('are read once by an isolate, and then along with its decisions', async () => {
    const { store, calls } = counted()
    const { clock, isolate } = app(store)
    const one = isolate()
    await one.call()
    // The load, the reservation and its settlement.
    expect(calls()).toBe(3)
    for (let minute = 1; minute <= 10; minute += 1) {
      clock.advance(60_000)
      await one.call()
      expect(calls()).toBe(3 + 2 * minute)
    }
    await setPrices(isolate().limiter, { known: NEW_PRICE })
    const before = calls()
    clock.advance(60_000)
    await one.call()
    expect(calls() - before).toBe(3)
  })

  it('are loaded at most once in 5 seconds, whatever models are asked for', async () => {
    const { store, calls } = counted()
    const { clock, isolate } = app(store)
    const one = isolate()
    await Promise.all(Array.from({ length: 50 }, (_, index) => one.call(`unknown-${index}`)))
    // Each refusal is a request that counts.
    expect(calls()).toBe(51)
    clock.advance(4_999)
    await one.call('another')
    expect(calls()).toBe(52)
    clock.advance(1)
    await Promise.all(Array.from({ length: 50 }, (_, index) => one.call(`other-${index}`)))
    expect(calls()).toBe(103)
  })

  it('reach a model that an isolate does not know at once, and no other call waits', async () => {
    const { clock, isolate } = app(memory())
    const one = isolate()
    await one.call()
    await setPrices(isolate().limiter, { 'new-model': NEW_PRICE })
    clock.advance(5_000)
    expect(await one.call('new-model')).toMatchObject({ status: 200 })
    // Also where an unknown model has a price.
    const dear = definePrices(
      {},
      { base: BASE, unknownModel: { input: 90_000_000, output: 90_000_000 } },
    )
    const other = isolate({ base: dear })
    await other.call()
    await setPrices(isolate().limiter, { 'newer-model': NEW_PRICE })
    clock.advance(5_000)
    await other.call('newer-model', 'other')
    expect(await other.charged('other')).toBe(costAt(20))
  })

  it('stay as they are known without the store', async () => {
    const inner = memory()
    let isDown = false
    const failing: Store = {
      ...inner,
      check: (request) => (isDown ? Promise.reject(new Error('down')) : inner.check(request)),
      run: (operation) => (isDown ? Promise.reject(new Error('down')) : inner.run(operation)),
    }
    const { clock, isolate } = app(failing)
    const one = isolate()
    await setPrices(one.limiter, { known: NEW_PRICE })
    await one.call()
    isDown = true
    clock.advance(3_600_000)
    expect(priceOf({ input: 0, output: 1 }, 'known', one.prices)).toBe(20)
    await one.call()
    expect(priceOf({ input: 0, output: 1 }, 'known', one.prices)).toBe(20)
  })

  it('settle 10,000 calls across changes at the price of then or of now, and at none that is lower', async () => {
    const { clock, isolate } = app(memory({ maxKeys: 100_000 }))
    const allowLower = true
    const sent: unknown[] = []
    let [opened, open] = gate()
    const held: FetchLike = async (...request) => {
      sent.push(request)
      await opened
      return answer(...request)
    }
    const isolates = Array.from({ length: 10 }, () => isolate({ allowLower }, held))
    const operator = isolate({ allowLower })
    const calls = 3_334
    let before = 10
    for (const [round, after] of [20, 5, 10].entries()) {
      ;[opened, open] = gate()
      sent.length = 0
      const send = (index: number) =>
        isolates[index % 10]?.call('known', `tenant-${round}-${index}`)
      const early = Array.from({ length: calls / 2 }, (_, index) => send(index))
      // All of these have begun with the price of before.
      await expect.poll(() => sent.length, { timeout: 60_000 }).toBe(calls / 2)
      await setPrices(operator.limiter, {
        known: { input: after * 100_000, output: after * 1_000_000 },
      })
      clock.advance(60_000)
      const late = Array.from({ length: calls / 2 }, (_, index) => send(calls / 2 + index))
      open()
      await Promise.all([...early, ...late])
      const allowed = [before, after].map(costAt)
      const began = costAt(before)
      for (let index = 0; index < calls; index += 1) {
        const charged = await operator.charged(`tenant-${round}-${index}`)
        expect(allowed).toContain(charged)
        expect(charged).toBeGreaterThanOrEqual(index < calls / 2 ? began : 0)
      }
      // A call that begins now begins with the new prices.
      await isolates[0]?.call('known', `last-${round}`)
      expect(await operator.charged(`last-${round}`)).toBe(costAt(after))
      before = after
    }
  }, 120_000)

  it('below those of the code are ignored, and reported, unless that is allowed', async () => {
    const { clock, isolate, problems } = app(memory())
    const lower = { input: 500_000, output: 10_000_000 }
    const one = isolate()
    await expect(setPrices(one.limiter, { known: lower })).rejects.toThrow(
      'livePrices.known: is lower than in the code',
    )
    await setPrices(isolate({ allowLower: true }).limiter, { known: lower, 'new-model': NEW_PRICE })
    clock.advance(5_000)
    await one.call('new-model', 'new')
    await one.call('known', 'known')
    expect(await one.charged('new')).toBe(costAt(20))
    expect(await one.charged('known')).toBe(costAt(10))
    expect(problems).toEqual([
      {
        code: 'invalid_configuration',
        message: expect.stringContaining('livePrices.known: is lower than in the code'),
      },
    ])
    const dated = definePrices({
      'dated-2026': {
        input: 1_000_000,
        output: 10_000_000,
        long: { above: 100, input: 2_000_000, output: 20_000_000 },
      },
    })
    const { limiter } = isolate({ base: dated })
    for (const price of [
      { input: 1_000_000, output: 10_000_000 },
      { input: 1_000_000, cachedInput: 500_000, output: 30_000_000 },
      {
        input: 2_000_000,
        output: 20_000_000,
        long: { above: 50, input: 1_000_000, output: 10_000_000 },
      },
      {
        input: 1_000_000,
        output: 10_000_000,
        long: { above: 101, input: 2_000_000, output: 20_000_000 },
      },
    ]) {
      await expect(setPrices(limiter, { 'dated-2026': price })).rejects.toThrow('is lower')
    }
    await setPrices(limiter, { 'dated-2026': { input: 2_000_000, output: 20_000_000 } })
  })

  it('are of every table that is made of them', async () => {
    const { isolate } = app(memory())
    const { limiter, prices } = isolate()
    const tables = [
      definePrices({ mine: NEW_PRICE }, { base: prices }),
      joinPrices(definePrices({ mine: NEW_PRICE }), prices),
      withTiers(prices, {}),
      { ...prices },
    ]
    await setPrices(limiter, { 'new-model': NEW_PRICE })
    for (const table of tables) {
      const send = limitedFetch(limiter, {
        subject: { tenant: 'acme' },
        prices: table,
        fetch: answer,
      })
      const body = JSON.stringify({
        model: 'new-model',
        messages: [{ role: 'user', content: 'Why?' }],
      })
      const url = 'https://llm.example/v1/chat/completions'
      expect((await send(url, { method: 'POST', body })).status).toBe(200)
    }
  })

  it('are read from the store of withBudget, which has a limiter of its own', async () => {
    const store = memory()
    const { isolate } = app(store)
    await setPrices(isolate().limiter, { 'new-model': NEW_PRICE })
    const { default: OpenAI } = await import('openai')
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: 'https://llm.example/v1',
      fetch: answer,
    })
    const prices = livePrices({ base: BASE })
    const openai = withBudget(client, { store, tenant: 5_000_000, prices })('acme')
    const call = { model: 'new-model', messages: [{ role: 'user' as const, content: 'Why?' }] }
    expect((await openai.chat.completions.create(call)).choices).toHaveLength(1)
  })

  const prices = livePrices({ base: BASE })
  const policies = [() => []] as never
  const limiter = createLimiter({ store: memory(), policies })
  const options = { subject: { tenant: 'acme' }, prices }
  const make = loosely(livePrices)
  mistakesAreNamed([
    ['a limiter without them', () => limitedFetch(limiter, options), 'limitedFetch.prices'],
    ['no base', () => make({}), 'livePrices.base'],
    ['an address that is none', () => make({ base: BASE, url: 'prices.json' }), 'livePrices.url'],
    [
      'an address without TLS',
      () => make({ base: BASE, url: 'http://prices.example/' }),
      'livePrices.url',
    ],
    ['vendors that are none', () => make({ base: BASE, vendors: 'openai' }), 'livePrices.vendors'],
    ['a wish', () => make({ base: BASE, allowLower: 'yes' }), 'livePrices.allowLower'],
    [
      'an unknown option',
      () => make({ base: BASE, every: 1 }),
      'livePrices.every',
      'unknown_option',
    ],
  ])
})
