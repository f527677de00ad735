import {
  createLimiter,
  defineExtension,
  listen,
  slidingWindow,
  StoreError,
  type Listeners,
  type Policy,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { STORES } from '../../support/stores.ts'
import { PATIENTLY } from '../../support/patience.ts'

const rpm = (options: object): Policy =>
  slidingWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'], ...options })

const down = () => Promise.reject(new StoreError('store_unreachable', 'down'))

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
    const events = threshold.mock.calls.map(([event]) => event)
    expect(new Set(events.map((event) => event.threshold))).toEqual(new Set([0.8, 0.95]))
    expect(events).toHaveLength(2)
    expect(events.every(({ subject }) => subject.tenant === 'acme')).toBe(true)
    expect(events.map(({ policy }) => policy.remaining).toSorted((a, b) => a - b)).toEqual([5, 20])
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
    expect(log).toHaveBeenCalledWith('Sluice: A listener of "threshold" failed:', mistake)
    log.mockRestore()
  })
  it('of problems are not needed: lines of the log then begin with their origin, once', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const mistake = new Error('a mistake in an extension')
    const failing = defineExtension({
      name: 'own',
      connect: () => ({ before: () => Promise.reject(mistake) }),
    })
    const store = { ...memory(), check: down }
    await setUp([rpm({ limit: 1 })], { store, extensions: [failing] }).limiter.check(ACME)
    const lines = log.mock.calls.map(([line]) => String(line))
    log.mockRestore()
    expect(lines).toEqual([
      'Sluice: The extension "own" failed; the decision was made without it',
      expect.stringMatching(/^Sluice: down/),
    ])
  })
  it('may be async, and one that rejects is logged like one that throws', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const mistake = new Error('the webhook is down')
    const rejects = (): Promise<void> => Promise.reject(mistake)
    const extensions = [listen(Object.fromEntries([['threshold', rejects]]))]
    const { limiter } = setUp([rpm({ limit: 1 })], { extensions })
    expect((await limiter.check(ACME)).allowed).toBe(true)
    await vi.waitFor(
      () => expect(log).toHaveBeenCalledWith('Sluice: A listener of "threshold" failed:', mistake),
      PATIENTLY,
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
