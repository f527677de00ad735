import {
  concurrency,
  createLimiter,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Policy,
  manualClock,
} from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { adaptiveLimit } from '@sluice/core/upstream'
import { describe, expect, it } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { refusal } from '../policies/fair-share/refusal.ts'

const common = { name: 'calls', limit: 50, per: 'global' } as const
const inFlight = concurrency(common)

const limiterWith = (policy: unknown, options: object = {}) =>
  createLimiter({
    store: memory(),
    policies: [policy as Policy],
    extensions: [adaptiveLimit({ policy: 'calls', min: 5, ...options })],
  })

describe('adaptiveLimit refuses', () => {
  it.each<readonly [string, object, string]>([
    ['no policy', { policy: undefined }, 'adaptiveLimit.policy'],
    ['a policy that the limiter lacks', { policy: 'others' }, 'adaptiveLimit.policy'],
    ['a min of 0', { min: 0 }, 'adaptiveLimit.min'],
    ['a min that is no whole number', { min: 2.5 }, 'adaptiveLimit.min'],
    ['a min that is the limit', { min: 50 }, 'adaptiveLimit.min'],
    ['an unknown option', { max: 90 }, 'adaptiveLimit.max'],
  ])('%s', (_, options, option) => {
    expect(refusal(() => limiterWith(inFlight, options))[0]).toBe(option)
  })

  it.each<readonly [string, unknown, string]>([
    ['a limit for each tenant', concurrency({ ...common, per: ['tenant'] }), 'per "global"'],
    ['a limit by plan', concurrency({ ...common, limit: () => 50 }), 'must have a number'],
    ['a window of a minute', slidingWindow({ ...common, window: '1m' }), 'at most 2 s'],
    ['a fixed window', fixedWindow({ ...common, window: '1s' }), 'the trait slides or held'],
    ['a bucket', tokenBucket({ ...common, window: '1s' }), 'the trait slides or held'],
    ['a lease', lease(slidingWindow({ ...common, window: '2s' })), 'neither leased'],
    ['stripes', slidingWindow({ ...common, window: '1s', stripes: 4 }), 'nor in stripes'],
  ])('%s', (_, policy, text) => {
    const [option, message] = refusal(() => limiterWith(policy))
    expect(option).toBe('adaptiveLimit.policy')
    expect(message).toContain(text)
  })

  it('to be in two limiters, whose calls it could not tell apart', () => {
    const model = adaptiveLimit({ policy: 'calls', min: 5 })
    const make = () => createLimiter({ store: memory(), policies: [inFlight], extensions: [model] })
    make()
    const [option, message] = refusal(make)
    expect(option).toBe('extensions.adaptiveLimit')
    expect(message).toContain('make another for this one')
  })

  it('to observe what is no function, or without a limiter', async () => {
    const model = adaptiveLimit({ policy: 'calls', min: 5 })
    await expect(model.observe(async () => 1)).rejects.toThrow('extensions')
    createLimiter({ store: memory(), policies: [inFlight], extensions: [model] })
    await expect(model.observe(Promise.resolve(1) as never)).rejects.toThrow('observe.call')
    const late = { timeout: 5 } as never
    await expect(model.observe(async () => 1, late)).rejects.toThrow('observe.timeout')
  })
})

it('says once that no call was observed', async () => {
  const { problems, listener } = collectProblems()
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [inFlight],
    extensions: [adaptiveLimit({ policy: 'calls', min: 5 }), listener],
  })
  for (let call = 0; call < 300; call += 1) {
    await limiter.check({})
    clock.advance(500)
  }
  expect(problems).toHaveLength(1)
  expect(problems[0]?.message).toContain('observe(() => fetch(url))')
})

it('says nothing of the sort where calls are observed, here or in another instance', async () => {
  const { problems, listener } = collectProblems()
  const clock = manualClock(NOON)
  const store = memory()
  const make = () => {
    const model = adaptiveLimit({ policy: 'calls', min: 5 })
    const limiter = createLimiter({
      store,
      clock,
      policies: [inFlight],
      extensions: [model, listener],
    })
    return { model, limiter }
  }
  const [proxy, route] = [make(), make()]
  for (let call = 0; call < 300; call += 1) {
    await proxy.limiter.check({})
    await route.limiter.check({})
    await route.model.observe(async () => clock.advance(500))
  }
  expect(problems).toEqual([])
})
