import { createLimiter, fixedWindow, type Limiter } from '@sluice/core'
import {
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { Answer } from '../../support/answer.ts'
import { limitsIn } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { callsOf, Watched } from '../../support/watched-store.ts'
import { FRESH_MS, limitOf, recordsApp } from './support.ts'

const OTHER = { tenant: 'other' }

describe('an isolate', () => {
  it('loads a record once, relies on it for 5 s, and then reads it with a decision', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = recordsApp(store)
    const limiter = isolate()
    const check = vi.spyOn(store, 'check')
    const readsAlong = () => check.mock.lastCall?.[0].reads.map(({ key }) => key)
    const first = await callsOf(store, () => limiter.check(ACME))
    // One for the settings of whole policies, one for the partition: at the same time.
    expect(first).toMatchObject({ decisions: 1, reads: 2 })
    expect((await callsOf(store, () => limiter.check(OTHER))).reads).toBe(1)
    clock.advance(FRESH_MS - 1)
    expect(await callsOf(store, () => limiter.check(ACME))).toMatchObject({ reads: 0 })
    expect(readsAlong()).toEqual([])
    clock.advance(1)
    expect(await callsOf(store, () => limiter.check(ACME))).toMatchObject({ reads: 0 })
    expect(readsAlong()).toEqual(['config:default:tenant=acme', 'config:default'])
    await limiter.check(OTHER)
    expect(readsAlong()).toEqual(['config:default:tenant=other'])
  })

  it('remembers 10,000 partitions at most, and drops the least recently used', async () => {
    const store = new Watched(memory({ maxKeys: 100_000 }))
    const limiter = recordsApp(store).isolate()
    const readsFor = async (tenant: string): Promise<number> =>
      (await callsOf(store, () => limiter.peek({ tenant }))).reads
    await configure(limiter, { rpm: { limit: 3 } }, { tenant: 't1' })
    for (let tenant = 0; tenant < 10_000; tenant += 1) await limiter.peek({ tenant: `t${tenant}` })
    expect(await readsFor('t0')).toBe(0)
    expect(await readsFor('one more')).toBe(1)
    expect(await readsFor('t0')).toBe(0)
    expect(await readsFor('t1')).toBe(1)
    expect(await readsFor('t9999')).toBe(0)
    expect(await limitOf(limiter, 'rpm', { tenant: 't1' })).toBe(3)
  })

  it('sets no timer for a known partition', async () => {
    const limiter = recordsApp(memory()).isolate()
    await limiter.check(ACME)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    await limiter.check(ACME)
    expect(timers).not.toHaveBeenCalled()
    timers.mockRestore()
  })

  it('reads nothing for policies that do not apply to the request', async () => {
    const store = new Watched(memory())
    const own = fixedWindow({
      name: 'own',
      limit: 5,
      window: '1h',
      per: ['tenant'],
      routes: ['images'],
    })
    const all = fixedWindow({ name: 'all', limit: 9, window: '1h', per: 'global' })
    const allow = { own: ['limit'] } as const
    const limiter = createLimiter({
      store,
      policies: [own, all],
      extensions: [runtimeConfiguration({ allow, partitions: partitionRecords() })],
    })
    const reads = async (route: string) =>
      (await callsOf(store, () => limiter.check({ ...ACME, route }))).reads
    expect(await reads('search')).toBe(1)
    expect(await reads('search')).toBe(0)
    expect(await reads('images')).toBe(1)
  })

  it('loads a record once for 50 requests at the same time', async () => {
    const store = new Watched(memory())
    const { isolate } = recordsApp(store)
    await configure(isolate(), { rpm: { limit: 1_000 } }, ACME)
    const limiter = isolate()
    await limiter.check(OTHER)
    const calls = await callsOf(store, async () => {
      const checks = Array.from({ length: 50 }, () => limiter.check(ACME))
      const limits = (await Promise.all(checks)).map((decision) => limitsIn(decision)['rpm'])
      expect(new Set(limits)).toEqual(new Set([1_000]))
    })
    expect(calls).toEqual({ decisions: 50, reads: 1, writes: 0, resets: 0 })
  })

  it('waits at most a second for a request that was cut off', async () => {
    vi.useFakeTimers()
    try {
      const store = new Watched(memory())
      const { isolate } = recordsApp(store)
      await configure(isolate(), { rpm: { limit: 4 } }, ACME)
      const limiter = isolate()
      await limiter.check(OTHER)
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

  it('does not keep a limit longer than 5 s because its clock was set back', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = recordsApp(store)
    const [here, there] = [isolate(), isolate()]
    await there.check(ACME)
    clock.advance(-3_600_000)
    await configure(here, { rpm: { limit: 4 } }, ACME)
    await there.check(ACME)
    expect(await limitOf(there, 'rpm')).toBe(4)
  })
})

describe('while the store is down', () => {
  it('known partitions keep their limits, and others have those of the code', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = recordsApp(store)
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 2 } }, ACME)
    await configure(limiter, { rpm: { limit: 2 } }, OTHER)
    await limiter.check(ACME)
    store.isDown = true
    clock.advance(60_000)
    expect(await limiter.check(ACME)).toMatchObject({
      degraded: { cause: 'store_unreachable', mode: 'local' },
      policies: [{ limit: 2 }, {}, {}],
    })
    const calls = await callsOf(store, async () => {
      expect(await limiter.check(OTHER)).toMatchObject({
        degraded: { cause: 'store_unreachable', mode: 'local' },
        policies: [{ limit: 10 }, {}, {}],
      })
    })
    expect(calls).toEqual({ decisions: 0, reads: 1, writes: 0, resets: 0 })
    store.isDown = false
    expect(limitsIn(await limiter.check(OTHER))).toMatchObject({ rpm: 2 })
  })

  it.each<[string, (limiter: Limiter) => Promise<unknown>]>([
    ['configure', (limiter) => configure(limiter, { rpm: { limit: 1 } }, ACME)],
    ['readConfiguration', (limiter) => readConfiguration(limiter, ACME)],
    ['removeConfiguration', (limiter) => removeConfiguration(limiter, ACME)],
  ])('%s throws', async (_, call) => {
    const store = new Watched(memory())
    const limiter = recordsApp(store).isolate()
    store.isDown = true
    await expect(call(limiter)).rejects.toMatchObject({ name: 'StoreError' })
  })
})

/** Lets the next call of the store's `check` read, and holds its reply back. */
function holdReply(store: Watched): { arrival: Answer<void>; made: Answer<void> } {
  const [arrival, made] = [new Answer<void>(), new Answer<void>()]
  const check = store.check.bind(store)
  vi.spyOn(store, 'check').mockImplementationOnce(async (request) => {
    const reply = await check(request)
    made.resolve()
    await arrival.promise
    return reply
  })
  return { arrival, made }
}

describe('concurrent changes', () => {
  it.each([
    ['a load', 0],
    ['a decision', FRESH_MS],
  ])('%s that read before a change of the same isolate does not undo it', async (_, ageMs) => {
    const store = new Watched(memory())
    const { clock, isolate } = recordsApp(store)
    const limiter = isolate()
    await limiter.check(ageMs > 0 ? ACME : OTHER)
    clock.advance(ageMs)
    const { arrival, made } = holdReply(store)
    const slow = limiter.check(ACME)
    await made.promise
    await configure(limiter, { rpm: { limit: 4 } }, ACME)
    arrival.resolve()
    await slow
    expect(await limitOf(limiter, 'rpm')).toBe(4)
  })

  it('a decision whose reply is late does not undo what a later one has read', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = recordsApp(store)
    const [here, there] = [isolate(), isolate()]
    await there.check(ACME)
    clock.advance(FRESH_MS)
    const { arrival, made } = holdReply(store)
    const slow = there.check(ACME)
    await made.promise
    await configure(here, { rpm: { limit: 4 } }, ACME)
    clock.advance(1)
    await there.check(ACME)
    arrival.resolve()
    await slow
    expect(await limitOf(there, 'rpm')).toBe(4)
  })

  it('of changes to one partition at once by four isolates none is lost', async () => {
    const { isolate } = recordsApp(memory())
    const limiters = Array.from({ length: 4 }, () => isolate())
    const settings = [{ limit: 1 }, { mode: 'shadow' }, { enabled: 100 }] as const
    await Promise.all([
      ...settings.map((change, index) =>
        configure(limiters[index] as Limiter, { rpm: change }, ACME),
      ),
      configure(limiters[3] as Limiter, { bucket: { limit: 7 } }, ACME),
    ])
    expect(await readConfiguration(limiters[0] as Limiter, ACME)).toEqual(
      expect.arrayContaining([
        { policy: 'rpm', subject: ACME, settings: { limit: 1, mode: 'shadow', enabled: 100 } },
        { policy: 'bucket', subject: ACME, settings: { limit: 7 } },
      ]),
    )
  })

  it('a removal does not take along a change that others make at the same time', async () => {
    const store = new Watched(memory())
    const { isolate } = recordsApp(store)
    const [here, there] = [isolate(), isolate()]
    await configure(here, { rpm: { limit: 4 } }, ACME)
    const { arrival, made } = holdReply(store)
    const removal = configure(here, { rpm: null }, ACME)
    await made.promise
    await configure(there, { bucket: { limit: 7 } }, ACME)
    arrival.resolve()
    await removal
    expect(await readConfiguration(there, ACME)).toEqual([
      { policy: 'bucket', subject: ACME, settings: { limit: 7 } },
    ])
  })

  it('a change that always loses the race fails after twenty attempts, with an error', async () => {
    const store = new Watched(memory())
    const limiter = recordsApp(store).isolate()
    const write = vi.spyOn(store, 'run').mockResolvedValue(false)
    const change = configure(limiter, { rpm: { limit: 4 } }, ACME)
    await expect(change).rejects.toMatchObject({ name: 'StoreError', code: 'store_conflict' })
    expect(write).toHaveBeenCalledTimes(20)
  })

  it('a change whose reply was lost applies from the next decision if it was made', async () => {
    const store = new Watched(memory())
    const limiter = recordsApp(store).isolate()
    await limiter.check(ACME)
    const run = store.run.bind(store)
    vi.spyOn(store, 'run').mockImplementationOnce(async (operation) => {
      await run(operation)
      throw new Error('lost')
    })
    await expect(configure(limiter, { rpm: { limit: 4 } }, ACME)).rejects.toThrow('lost')
    expect(await limitOf(limiter, 'rpm')).toBe(4)
  })
})
