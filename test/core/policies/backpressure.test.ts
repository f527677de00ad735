import {
  backpressure,
  createLimiter,
  listen,
  slidingWindow,
  type Listeners,
  type Policy,
} from '@sluice/core'
import { describe, expect, it, vi } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { STORES } from '../../support/stores.ts'

const rpm = (options: object): Policy =>
  slidingWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'], ...options })

async function delays(policies: Policy[], times: number): Promise<number[]> {
  const { limiter } = setUp(policies)
  const found: number[] = []
  for (let time = 0; time < times; time += 1) found.push((await limiter.check(ACME)).delayMs)
  return found
}

describe('backpressure', () => {
  it('delays nothing up to 80 % of the limit, then ever more, to 2 s at the limit', async () => {
    const found = await delays([rpm({ backpressure: backpressure() })], 101)
    expect(found.slice(0, 80)).toEqual(Array.from({ length: 80 }, () => 0))
    expect(found.slice(80, 100)).toEqual(Array.from({ length: 20 }, (_, n) => (n + 1) * 100))
    expect(found[100]).toBe(0)
  })
  it('begins and ends as configured', async () => {
    const found = await delays(
      [rpm({ backpressure: backpressure({ from: 0.5, maxMs: 500 }) })],
      100,
    )
    expect([found[49], found[50], found[74], found[99]]).toEqual([0, 10, 250, 500])
  })
  it('is the same in a peek as in a check', async () => {
    const policies = [rpm({ limit: 10, backpressure: backpressure({ from: 0, maxMs: 1_000 }) })]
    const { limiter } = setUp(policies)
    for (let time = 0; time < 10; time += 1) {
      const { delayMs } = await limiter.peek(ACME)
      expect((await limiter.check(ACME)).delayMs).toBe(delayMs)
    }
    expect((await limiter.peek(ACME)).delayMs).toBe(0)
  })
  it('uses the longest delay of several policies, and none of a policy in shadow mode', async () => {
    const name = 'slow'
    const slow = rpm({ name, limit: 10, backpressure: backpressure({ from: 0, maxMs: 1_000 }) })
    expect(
      await delays([rpm({ backpressure: backpressure({ from: 0, maxMs: 100 }) }), slow], 3),
    ).toEqual([100, 200, 300])
    const shadow = rpm({ mode: 'shadow', backpressure: backpressure({ from: 0 }) })
    expect(await delays([shadow], 3)).toEqual([0, 0, 0])
  })
})

describe('the event "threshold"', () => {
  it('is sent once when a charge passes 80 % and once when one passes 95 %, under concurrency', async () => {
    const maker = await STORES['redis, built-in transport']()
    const threshold = vi.fn<NonNullable<Listeners['threshold']>>()
    const policies = [rpm({})]
    const limiter = createLimiter({
      store: maker.make(),
      policies,
      extensions: [listen({ threshold })],
    })
    await Promise.all(Array.from({ length: 120 }, () => limiter.check(ACME)))
    const told = threshold.mock.calls.map(([event]) => event)
    expect(new Set(told.map((event) => event.threshold))).toEqual(new Set([0.8, 0.95]))
    expect(told).toHaveLength(2)
    expect(told.every(({ subject }) => subject.tenant === 'acme')).toBe(true)
    expect(told.map(({ policy }) => policy.remaining).toSorted((a, b) => a - b)).toEqual([5, 20])
    await maker.close()
  })

  it.each([0.07, 0.55, 0.56, 0.57, 0.58])(
    'is sent for %d of 100 by the unit that reaches it',
    async (share) => {
      const threshold = vi.fn<NonNullable<Listeners['threshold']>>()
      const extensions = [listen({ threshold }, { thresholds: [share] })]
      const { limiter } = setUp([rpm({})], { extensions })
      await limiter.check(ACME, { cost: Math.round(share * 100) - 1 })
      expect(threshold).not.toHaveBeenCalled()
      await limiter.check(ACME)
      expect(threshold).toHaveBeenCalledTimes(1)
    },
  )

  it('is sent for every threshold that one large charge passes, and never for a peek or a denial', async () => {
    const threshold = vi.fn<NonNullable<Listeners['threshold']>>()
    const { limiter } = setUp([rpm({})], {
      extensions: [listen({ threshold }, { thresholds: [0.5, 0.9, 1] })],
    })
    await limiter.peek(ACME, { cost: 100 })
    await limiter.check(ACME, { cost: 101 })
    expect(threshold).not.toHaveBeenCalled()
    await limiter.check(ACME, { cost: 95 })
    expect(threshold.mock.calls.map(([event]) => event.threshold)).toEqual([0.5, 0.9])
    await limiter.check(ACME, { cost: 5 })
    expect(threshold.mock.calls.map(([event]) => event.threshold)).toEqual([0.5, 0.9, 1])
  })
})

describe('listeners', () => {
  it('get the denials that shadow mode prevented', async () => {
    const shadow = vi.fn<NonNullable<Listeners['shadow']>>()
    const policies = [rpm({ limit: 1, mode: 'shadow' })]
    const { limiter } = setUp(policies, { extensions: [listen({ shadow })] })
    await limiter.check(ACME)
    await limiter.peek(ACME)
    expect(shadow).not.toHaveBeenCalled()
    await limiter.check(ACME)
    expect(shadow).toHaveBeenCalledExactlyOnceWith({
      subject: ACME,
      policy: expect.objectContaining({ name: 'rpm', fits: false, enforced: false }),
    })
  })
  it('that throw are logged, and change no decision', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const mistake = new Error('a mistake in a listener')
    const fail = () => {
      throw mistake
    }
    const policies = [rpm({ limit: 1 })]
    const extensions = [listen({ threshold: fail, shadow: fail })]
    const { limiter } = setUp(policies, { extensions })
    expect((await limiter.check(ACME)).allowed).toBe(true)
    expect(log).toHaveBeenCalledWith('A listener of "threshold" failed:', mistake)
    log.mockRestore()
  })
  it('may be async, and one that rejects is logged like one that throws', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const mistake = new Error('the webhook is down')
    const rejects = (): Promise<void> => Promise.reject(mistake)
    const extensions = [listen(Object.fromEntries([['threshold', rejects]]))]
    const { limiter } = setUp([rpm({ limit: 1 })], { extensions })
    expect((await limiter.check(ACME)).allowed).toBe(true)
    await vi.waitFor(() =>
      expect(log).toHaveBeenCalledWith('A listener of "threshold" failed:', mistake),
    )
    log.mockRestore()
  })
  it.each([
    ['listeners', [{ treshold: () => {} }], 'listen.treshold'],
    ['a listener', [{ threshold: 'log' }], 'listen.threshold'],
    ['thresholds', [{}, { thresholds: 0.8 }], 'listen.thresholds'],
    ['a threshold in percent', [{}, { thresholds: [80] }], 'listen.thresholds'],
    ['a threshold of 0', [{}, { thresholds: [0] }], 'listen.thresholds'],
  ])('are refused if malformed: %s', (_, given, option) => {
    const make = () => listen(...(given as Parameters<typeof listen>))
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
  })
})
