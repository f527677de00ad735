import type { Limiter } from '@sluice/core'
import { configure, configured, removeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { Answer } from '../../support/answer.ts'
import { ACME } from '../../support/limiters.ts'
import { callsOf, Watched } from '../../support/watched-store.ts'
import { limitsIn } from '../../support/decisions.ts'
import { app, limitOf, FRESH_MS } from './support.ts'

describe('while the store is down', () => {
  it('an isolate that has loaded the settings goes on with them', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = app(store)
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 2 } })
    await limiter.check(ACME)
    store.isDown = true
    clock.advance(60_000)
    const decisions = [
      await limiter.check(ACME),
      await limiter.check(ACME),
      await limiter.check(ACME),
    ]
    expect(decisions.map(({ allowed, degraded }) => [allowed, degraded?.mode])).toEqual([
      [true, 'local'],
      [true, 'local'],
      [false, 'local'],
    ])
  })

  it('an isolate that starts uses the limits of the code, tries once a decision, and loads when the store is back', async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    await configure(isolate(), { rpm: { limit: 2 } })
    store.isDown = true
    const limiter = isolate()
    const calls = await callsOf(store, async () => {
      expect(await limiter.check(ACME)).toMatchObject({
        degraded: { cause: 'store_unreachable', mode: 'local' },
        policies: [{ limit: 10 }, {}, {}],
      })
    })
    expect(calls).toEqual({ decisions: 0, reads: 1, writes: 0, resets: 0 })
    store.isDown = false
    expect(limitsIn(await limiter.check(ACME))).toMatchObject({ rpm: 2 })
  })

  it('a denial by known settings stands if the new ones cannot be loaded', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = app(store)
    const [here, there] = [isolate(), isolate()]
    for (let time = 0; time < 11; time += 1) await there.check(ACME)
    await configure(here, { rpm: { limit: 100 } })
    clock.advance(FRESH_MS)
    const check = store.check.bind(store)
    vi.spyOn(store, 'check').mockImplementation((request) => {
      store.isDown = request.entries.length === 0
      return check(request)
    })
    expect(await there.check(ACME)).toMatchObject({ allowed: false, degraded: undefined })
  })

  it.each<[string, (limiter: Limiter) => Promise<unknown>]>([
    ['configure', (limiter) => configure(limiter, { rpm: { limit: 1 } })],
    ['configured', (limiter) => configured(limiter)],
    ['removeConfiguration', (limiter) => removeConfiguration(limiter, ACME)],
  ])('%s throws', async (_, call) => {
    const store = new Watched(memory())
    const limiter = app(store).isolate()
    store.isDown = true
    await expect(call(limiter)).rejects.toMatchObject({ name: 'StoreError' })
  })
})

const checks = (limiter: Limiter) =>
  Promise.all(Array.from({ length: 50 }, () => limiter.check(ACME)))

describe('50 requests at once', () => {
  it('of an isolate that starts, or that must see a change, load the settings once', async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    const [here, there] = [isolate(), isolate()]
    await configure(here, { rpm: { limit: 1_000 } })
    const first = await callsOf(store, async () => {
      const limits = (await checks(there)).map((decision) => limitsIn(decision)['rpm'])
      expect(new Set(limits)).toEqual(new Set([1_000]))
    })
    expect(first).toEqual({ decisions: 50, reads: 1, writes: 0, resets: 0 })
    await configure(there, { rpm: { limit: 2_000 } })
    expect((await callsOf(store, () => checks(there))).reads).toBe(1)
  })

  it('ask a store that is down for the settings once', async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    store.isDown = true
    const calls = await callsOf(store, async () => {
      const causes = (await checks(isolate())).map(({ degraded }) => degraded?.cause)
      expect(new Set(causes)).toEqual(new Set(['store_unreachable']))
    })
    expect(calls.reads).toBe(1)
  })

  it('wait at most a second for a request that was cut off', async () => {
    vi.useFakeTimers()
    try {
      const store = new Watched(memory())
      const { isolate } = app(store)
      await configure(isolate(), { rpm: { limit: 4 } })
      const limiter = isolate()
      // As on Cloudflare: what a cancelled request awaits never comes.
      const read = vi.spyOn(store, 'check').mockReturnValueOnce(new Promise(() => {}))
      void limiter.check(ACME)
      const waits = limiter.check(ACME)
      await vi.advanceTimersByTimeAsync(1_100)
      expect(limitsIn(await waits)).toMatchObject({ rpm: 4 })
      read.mockRestore()
    } finally {
      vi.useRealTimers()
    }
  })
})

it('a clock set back by an hour does not keep settings longer than 5 s', async () => {
  const store = new Watched(memory())
  const { clock, isolate } = app(store)
  const [here, there] = [isolate(), isolate()]
  await there.check(ACME)
  clock.advance(-3_600_000)
  await configure(here, { rpm: { limit: 4 } })
  await there.check(ACME)
  expect(await limitOf(there, 'rpm')).toBe(4)
  clock.advance(-3_600_000)
  const check = vi.spyOn(store, 'check')
  await there.check(ACME)
  expect(check.mock.lastCall?.[0].reads).toHaveLength(1)
  await there.check(ACME)
  expect(check.mock.lastCall?.[0].reads).toEqual([])
})

describe('concurrent changes', () => {
  it('a load that began before a change of the same isolate does not undo it', async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    const limiter = isolate()
    const arrival = new Answer<void>()
    const check = store.check.bind(store)
    // The first load has read, and its answer is still on its way.
    vi.spyOn(store, 'check').mockImplementationOnce(async (request) => {
      const reply = await check(request)
      await arrival.promise
      return reply
    })
    const first = limiter.check(ACME)
    await expect.poll(() => store.calls.reads).toBe(1)
    await configure(limiter, { rpm: { limit: 4 } })
    arrival.resolve()
    await first
    expect(await limitOf(limiter, 'rpm')).toBe(4)
  })

  it('a change that always loses the race fails after twenty attempts, with an error', async () => {
    const store = new Watched(memory())
    const limiter = app(store).isolate()
    const write = vi.spyOn(store, 'run').mockResolvedValue(false)
    await expect(configure(limiter, { rpm: { limit: 4 } })).rejects.toMatchObject({
      name: 'StoreError',
      code: 'store_conflict',
    })
    expect(write).toHaveBeenCalledTimes(20)
  })

  it('a change whose reply was lost applies from the next decision if it was made', async () => {
    const store = new Watched(memory())
    const limiter = app(store).isolate()
    await limiter.check(ACME)
    const run = store.run.bind(store)
    vi.spyOn(store, 'run').mockImplementationOnce(async (operation) => {
      await run(operation)
      throw new Error('lost')
    })
    await expect(configure(limiter, { rpm: { limit: 4 } })).rejects.toThrow('lost')
    expect(await limitOf(limiter, 'rpm')).toBe(4)
  })
})
