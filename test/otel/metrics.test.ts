import { backpressure, fixedWindow, slidingWindow, StoreError, definePlans } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { release, reservation, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ACME } from '../support/limiters.ts'
import { setUpTelemetry, startSdk, type Sdk } from './support.ts'

const rpm = fixedWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })
const unitPolicy = (unit: string, limit: number) =>
  slidingWindow({ name: `${unit}s`, unit, limit, window: '1m', per: ['tenant'] })
const down = () => Promise.reject(new StoreError('store_unreachable', 'down'))

let sdk: Sdk
beforeEach(() => {
  sdk = startSdk()
})
afterEach(() => sdk.stop())

describe('decisions', () => {
  it('are counted by route, plan, outcome and the policy that denied', async () => {
    const plans = definePlans({ free: { rpm: 1 }, paid: { rpm: 2 } })
    const policy = fixedWindow({
      name: 'rpm',
      limit: ({ plan }) => plan['rpm'] ?? 0,
      window: '1m',
      per: ['tenant'],
    })
    const { limiter } = setUpTelemetry(sdk, [policy], { plans })
    for (let count = 0; count < 3; count += 1) {
      await limiter.check({ ...ACME, plan: 'paid', route: 'evaluate' })
    }
    await limiter.check({ tenant: 'other', plan: 'free', route: 'chat' })
    expect(await sdk.counts('rate_limiter.decisions')).toEqual({
      'outcome=allowed plan=paid route=evaluate': 2,
      'outcome=denied plan=paid policy=rpm route=evaluate': 1,
      'outcome=allowed plan=free route=chat': 1,
    })
  })

  it('are told apart if they were delayed, made without the store, or denied by a shadow', async () => {
    const slowed = fixedWindow({
      name: 'slowed',
      limit: 10,
      window: '1m',
      per: ['tenant'],
      backpressure: backpressure({ from: 0, maxMs: 100 }),
    })
    const shadow = fixedWindow({
      name: 'next',
      limit: 1,
      window: '1m',
      per: ['tenant'],
      mode: 'shadow',
    })
    await setUpTelemetry(sdk, [slowed, shadow]).limiter.check(ACME, { cost: 5 })
    const store = { ...memory(), check: down }
    await setUpTelemetry(sdk, [rpm], { store, onStoreError: 'deny' }).limiter.check(ACME)
    expect(await sdk.counts('rate_limiter.decisions')).toEqual({
      'outcome=delayed policy=slowed': 1,
      'degraded.mode=deny outcome=denied': 1,
    })
    expect(await sdk.counts('rate_limiter.shadow_denials')).toEqual({ 'policy=next': 1 })
  })

  it('have a tenant only if it is listed, and at most so many routes', async () => {
    const options = { telemetry: { tenants: ['acme'], maxValues: 2 } }
    const { limiter } = setUpTelemetry(sdk, [rpm], options)
    for (const route of ['a', 'b', 'c', 'd']) await limiter.check({ tenant: route, route })
    await limiter.check({ ...ACME, route: 'a' })
    expect(await sdk.counts('rate_limiter.decisions')).toEqual({
      'outcome=allowed route=a': 1,
      'outcome=allowed route=b': 1,
      'outcome=allowed route=other': 2,
      'outcome=allowed route=a tenant=acme': 1,
    })
  })
})

describe('units', () => {
  it('are charged by a check, in units and dollars', async () => {
    const { limiter } = setUpTelemetry(sdk, [
      rpm,
      unitPolicy('token', 1_000),
      unitPolicy('usd', 9_000_000),
    ])
    await limiter.check(ACME, { cost: { request: 1, token: 300, usd: 1_500_000 } })
    await limiter.check(ACME, { cost: { request: 1, token: 900, usd: 1_500_000 } })
    expect(await sdk.counts('rate_limiter.units')).toEqual({ 'state=charged unit=token': 300 })
    expect(await sdk.counts('rate_limiter.cost')).toEqual({ 'state=charged': 1.5 })
  })

  it('of a reservation are reserved, then settled, returned or overrun, with its route', async () => {
    const { limiter } = setUpTelemetry(sdk, [unitPolicy('token', 1_000)])
    const subject = { ...ACME, route: 'chat' }
    const under = await reserve(limiter, subject, { cost: { token: 500 } })
    const over = await reserve(limiter, subject, { cost: { token: 100 } })
    if (under.allowed) await under.settle({ token: 200 })
    if (over.allowed) await over.settle({ token: 150 })
    expect(await sdk.counts('rate_limiter.units')).toEqual({
      'route=chat state=reserved unit=token': 600,
      'route=chat state=estimated unit=token': 600,
      'route=chat state=settled unit=token': 350,
      'route=chat state=returned unit=token': 300,
      'route=chat state=overrun unit=token': 50,
    })
  })

  it('of a reservation that another process settles too late are abandoned, with its route', async () => {
    const { limiter, clock } = setUpTelemetry(sdk, [unitPolicy('usd', 9_000_000)])
    const subject = { ...ACME, route: 'chat' }
    const call = await reserve(limiter, subject, { cost: { usd: 2_000_000 }, settleWithin: '1m' })
    clock.advance(61_000)
    const other = setUpTelemetry(sdk, [unitPolicy('usd', 9_000_000)], { clock })
    await reservation(other.limiter, JSON.stringify(call)).settle({ usd: 1 })
    expect(await sdk.counts('rate_limiter.cost')).toEqual({
      'route=chat state=reserved': 2,
      'route=chat state=abandoned': 2,
    })
  })

  it('that are settled after their release are estimated once', async () => {
    const { limiter, clock } = setUpTelemetry(sdk, [unitPolicy('token', 1_000)])
    const options = { cost: { token: 500 }, settleWithin: '30s', unsettled: release() } as const
    const call = await reserve(limiter, { ...ACME, route: 'chat' }, options)
    clock.advance(30_000)
    expect(await sweepUnsettled(limiter, ACME)).toBe(1)
    if (call.allowed) await call.settle({ token: 200 })
    expect(await sdk.counts('rate_limiter.units')).toEqual({
      'route=chat state=reserved unit=token': 500,
      'route=(unknown) state=estimated unit=token': 500,
      'route=(unknown) state=returned unit=token': 500,
      'route=chat state=settled unit=token': 200,
      'route=chat state=overrun unit=token': 200,
    })
  })

  it('that are never settled are what is reserved, but neither estimated nor abandoned', async () => {
    const store = memory()
    const policies = [unitPolicy('token', 10_000)]
    const { limiter, clock } = setUpTelemetry(sdk, policies, { store })
    const open = async (token: number, settleWithin: '1m' | '1h') => {
      const call = await reserve(limiter, ACME, { cost: { token }, settleWithin })
      if (!call.allowed) throw new Error('denied')
      return call
    }
    const here = await open(1, '1h')
    const elsewhere = await open(20, '1h')
    const late = await open(300, '1m')
    await open(4_000, '1m')
    await here.settle({ token: 9 })
    // Their window is over, so that settling moves nothing.
    clock.advance(61_000)
    const other = setUpTelemetry(sdk, policies, { store, clock })
    expect(await reservation(other.limiter, elsewhere.toJSON()).settle({ token: 2 })).toMatchObject(
      {
        applied: true,
        returned: {},
      },
    )
    await late.settle({ token: 7 })

    const sums: Record<string, number> = {}
    for (const { attributes, value } of await sdk.points('rate_limiter.units')) {
      const state = String(attributes['rate_limiter.state'])
      sums[state] = (sums[state] ?? 0) + Number(value)
    }
    expect(sums).toMatchObject({ reserved: 4_321, estimated: 21, settled: 11, abandoned: 300 })
  })
})

describe('the store', () => {
  it('is timed by call, in seconds, and its errors are told apart', async () => {
    await setUpTelemetry(sdk, [rpm]).limiter.check(ACME)
    const store = { ...memory(), check: down }
    await setUpTelemetry(sdk, [rpm], { store, onStoreError: 'allow' }).limiter.check(ACME)
    const points = await sdk.points('rate_limiter.store.duration')
    expect(points).toEqual([
      {
        attributes: { 'rate_limiter.store.call': 'check' },
        value: expect.objectContaining({ count: 1 }),
      },
      {
        attributes: { 'rate_limiter.store.call': 'check', 'error.type': 'store_unreachable' },
        value: expect.objectContaining({ count: 1 }),
      },
    ])
    const [first] = points as readonly { value: { buckets: { boundaries: number[] } } }[]
    const boundaries = first?.value.buckets.boundaries ?? []
    expect([boundaries[0], boundaries.at(-1)]).toEqual([0.001, 5])
  })
})

describe('the use of budgets', () => {
  it('is set for global policies and listed tenants, and crossings are counted', async () => {
    const global = fixedWindow({ name: 'all', limit: 10, window: '1m', per: 'global' })
    const { limiter } = setUpTelemetry(sdk, [rpm, global], { telemetry: { tenants: ['acme'] } })
    await limiter.check({ tenant: 'other' }, { cost: 2 })
    await limiter.check(ACME)
    expect(await sdk.counts('rate_limiter.budget.used')).toEqual({
      'policy=rpm tenant=acme': 0.5,
      'policy=all': expect.closeTo(0.3),
    })
    expect(await sdk.counts('rate_limiter.thresholds')).toEqual({
      'policy=rpm threshold=0.8': 1,
      'policy=rpm threshold=0.95': 1,
    })
  })
})

describe('how full limits are', () => {
  it('is a distribution of the used shares after each decision, by policy', async () => {
    const policies = [
      fixedWindow({ name: 'rpm', limit: 4, window: '1m', per: ['tenant'] }),
      fixedWindow({ name: 'daily', limit: 10, window: '1d', per: ['tenant'] }),
    ]
    const { limiter } = setUpTelemetry(sdk, policies)
    for (let time = 0; time < 6; time += 1) await limiter.check(ACME)
    const points = await sdk.points('rate_limiter.limit.used')
    const found = points.map(({ attributes, value }) => {
      const { count, sum, buckets } = value as {
        count: number
        sum: number
        buckets: { boundaries: number[]; counts: number[] }
      }
      return { policy: attributes['rate_limiter.policy'], count, sum, buckets }
    })
    const boundaries = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1]
    expect(found).toEqual([
      // A quarter, a half, three quarters, and full three times: two of these were denied.
      {
        policy: 'rpm',
        count: 6,
        sum: 4.5,
        buckets: { boundaries, counts: [0, 1, 1, 1, 0, 0, 3, 0] },
      },
      {
        policy: 'daily',
        count: 6,
        sum: expect.closeTo(1.8, 6) as number,
        buckets: { boundaries, counts: [1, 1, 4, 0, 0, 0, 0, 0] },
      },
    ])
  })
})
