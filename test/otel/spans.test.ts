import { EventEmitter, once } from 'node:events'
import { SpanStatusCode } from '@opentelemetry/api'
import { backpressure, fixedWindow, slidingWindow, StoreError, definePlans } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { memory } from '@sluice/core/memory'
import { reservation, reserve } from '@sluice/core/reservations'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ACME } from '../support/limiters.ts'
import { objectsInProcess } from '../support/objects.ts'
import { followContext, setUpTelemetry, startSdk, within, type Sdk } from './support.ts'

const rpm = fixedWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })
const tokens = slidingWindow({
  name: 'tpm',
  unit: 'token',
  limit: 1_000,
  window: '1m',
  per: ['tenant'],
})
const SUBJECT = { ...ACME, route: 'evaluate', model: 'gpt-4o' }

let sdk: Sdk
beforeEach(() => {
  sdk = startSdk()
})
afterEach(() => sdk.stop())

const epochMs = ([seconds, nanos]: readonly [number, number]): number =>
  seconds * 1_000 + nanos / 1e6

const only = () => {
  expect(sdk.spans()).toHaveLength(1)
  return sdk.spans()[0]!
}

describe('the span of a decision', () => {
  it('says what was decided, by which policy, and what is left', async () => {
    const { limiter } = setUpTelemetry(sdk, [rpm, tokens])
    await limiter.check(SUBJECT, { cost: { request: 1, token: 900 } })
    expect(only().name).toBe('rate_limiter.check')
    expect(only().attributes).toEqual({
      'rate_limiter.outcome': 'allowed',
      // 100 of 1,000 are left, which is less than 1 of 2.
      'rate_limiter.policy': 'tpm',
      'rate_limiter.policies': ['rpm', 'tpm'],
      'rate_limiter.limit': 1_000,
      'rate_limiter.remaining': 100,
      'rate_limiter.cost.request': 1,
      'rate_limiter.cost.token': 900,
      'rate_limiter.source': 'memory',
      'rate_limiter.degraded': false,
      'rate_limiter.route': 'evaluate',
      'gen_ai.request.model': 'gpt-4o',
      // printf acme | sha256sum | cut -c1-16
      'rate_limiter.partition.tenant': '822b33ad87c148a0',
    })
  })

  it('of a denial names the policy that denied, the reason and the wait', async () => {
    const { limiter } = setUpTelemetry(sdk, [rpm])
    await limiter.check(ACME, { cost: 3 })
    await limiter.check(ACME, { cost: 2 })
    const denied = await limiter.check(ACME)
    expect(sdk.spans().map(({ attributes }) => attributes['rate_limiter.reason'])).toEqual([
      'cost_exceeds_limit',
      undefined,
      'rate_limit_exceeded',
    ])
    expect(sdk.spans()[2]?.attributes).toMatchObject({
      'rate_limiter.outcome': 'denied',
      'rate_limiter.policy': 'rpm',
      'rate_limiter.remaining': 0,
      'rate_limiter.retry_after_ms': denied.retryAfterMs,
    })
    expect(sdk.spans()[2]?.status.code).toBe(SpanStatusCode.UNSET)
  })

  it('of a decision without the store has its cause as an error', async () => {
    const error = new StoreError('store_unreachable', 'down')
    const store = { ...memory(), check: () => Promise.reject(error) }
    const { limiter } = setUpTelemetry(sdk, [rpm], { store, onStoreError: 'allow' })
    await limiter.check(ACME)
    expect(only().attributes).toMatchObject({
      'rate_limiter.outcome': 'allowed',
      'rate_limiter.degraded': true,
      'rate_limiter.degraded.mode': 'allow',
      'error.type': 'store_unreachable',
    })
    expect(only().status).toEqual({ code: SpanStatusCode.ERROR, message: 'store_unreachable' })
  })

  it('of a decision that a breaker has paused has that as its error', async () => {
    const error = new StoreError('store_unreachable', 'down')
    const store = breaker({ ...memory(), check: () => Promise.reject(error) }, { failures: 1 })
    const { limiter } = setUpTelemetry(sdk, [rpm], { store, onStoreError: 'deny' })
    await limiter.check(ACME)
    await limiter.check(ACME)
    expect(sdk.spans()[1]?.attributes).toMatchObject({
      'rate_limiter.outcome': 'denied',
      'rate_limiter.degraded.mode': 'deny',
      'error.type': 'store_paused',
    })
    expect(sdk.spans()[1]?.status.message).toBe('store_paused')
    expect(await sdk.points('rate_limiter.store.duration')).toContainEqual(
      expect.objectContaining({
        attributes: { 'rate_limiter.store.call': 'check', 'error.type': 'store_paused' },
      }),
    )
  })

  it('names the shadows that would have denied, and the delay', async () => {
    const shadow = fixedWindow({
      name: 'next-rpm',
      limit: 1,
      window: '1m',
      per: ['tenant'],
      mode: 'shadow',
    })
    const slowed = fixedWindow({
      name: 'slowed',
      limit: 10,
      window: '1m',
      per: ['tenant'],
      backpressure: backpressure({ from: 0, maxMs: 100 }),
    })
    const { limiter } = setUpTelemetry(sdk, [shadow, slowed])
    const decision = await limiter.check(ACME, { cost: 4 })
    expect(decision.delayMs).toBeGreaterThan(0)
    expect(only().attributes).toMatchObject({
      'rate_limiter.outcome': 'delayed',
      'rate_limiter.policy': 'slowed',
      'rate_limiter.delay_ms': decision.delayMs,
      'rate_limiter.shadow': ['next-rpm'],
    })
  })

  it('has the plan', async () => {
    const plans = definePlans({ free: { rpm: 1 }, paid: { rpm: 2 } })
    const policy = fixedWindow({
      name: 'rpm',
      limit: ({ plan }) => plan['rpm'] ?? 0,
      window: '1m',
      per: ['tenant'],
    })
    const { limiter } = setUpTelemetry(sdk, [policy], { plans })
    await limiter.check({ ...ACME, plan: 'paid' })
    expect(only().attributes).toMatchObject({ 'rate_limiter.plan': 'paid' })
  })

  it('is not made for a peek, or for a call that throws', async () => {
    const { limiter } = setUpTelemetry(sdk, [rpm])
    await limiter.peek(ACME)
    await expect(limiter.check({})).rejects.toThrow('tenant')
    expect(sdk.spans()).toEqual([])
  })
})

describe('a reservation', () => {
  it('has a span when it is settled, linked to that of its decision', async () => {
    const { limiter } = setUpTelemetry(sdk, [tokens])
    const call = await reserve(limiter, ACME, { cost: { token: 500 } })
    const id = call.allowed ? call.toJSON().id : ''
    if (call.allowed) await call.settle({ token: 200 })
    const [checked, settled] = sdk.spans()
    expect(checked?.attributes['rate_limiter.reservation']).toBe(id)
    expect(settled?.name).toBe('rate_limiter.settle')
    expect(settled?.attributes).toEqual({
      'rate_limiter.outcome': 'settled',
      'rate_limiter.reservation': id,
      'rate_limiter.returned.token': 300,
    })
    expect(settled?.links.map((link) => link.context.spanId)).toEqual([
      checked?.spanContext().spanId,
    ])
  })

  it('that is settled too late is abandoned; one of another process has no link', async () => {
    const { limiter, clock } = setUpTelemetry(sdk, [tokens])
    const call = await reserve(limiter, ACME, { cost: { token: 500 }, settleWithin: '1m' })
    const other = setUpTelemetry(sdk, [tokens], { clock })
    clock.advance(61_000)
    const data = call.allowed && call.toJSON()
    await reservation(other.limiter, data).settle({ token: 1 })
    expect(sdk.spans()[1]?.attributes['rate_limiter.outcome']).toBe('abandoned')
    expect(sdk.spans()[1]?.links).toEqual([])
  })
})

describe('the time and place of a span', () => {
  let disable: () => void
  beforeEach(() => {
    disable = followContext()
  })
  afterEach(() => disable())

  it('are those of its decision, also if decisions that share a subject overlap', async () => {
    // The first decision waits in the store until the second one has been made.
    const gate = new EventEmitter()
    const waiting = once(gate, 'open')
    const entered = once(gate, 'entered')
    const own = memory()
    let calls = 0
    const store = {
      ...own,
      async check(request: Parameters<typeof own.check>[0]) {
        calls += 1
        if (calls === 1) {
          gate.emit('entered')
          await waiting
        }
        return own.check(request)
      },
    }
    const { limiter } = setUpTelemetry(sdk, [rpm], { store })
    const began = Date.now()
    const first = within(sdk, 'first', () => limiter.check(ACME))
    await entered
    const second = await within(sdk, 'second', () => limiter.check(ACME))
    gate.emit('open')
    const parents = [second, await first]
    const checks = sdk.spans().filter(({ name }) => name === 'rate_limiter.check')
    expect(checks.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(parents)

    const [inner, outer] = checks.map(({ startTime, endTime }) => ({
      start: epochMs(startTime),
      end: epochMs(endTime),
    }))
    expect(outer!.start).toBeGreaterThanOrEqual(began)
    expect(outer!.start).toBeLessThanOrEqual(inner!.start)
    expect(inner!.end).toBeGreaterThanOrEqual(inner!.start)
    expect(outer!.end).toBeGreaterThanOrEqual(inner!.end - 1)
    expect(outer!.end).toBeLessThanOrEqual(Date.now() + 1)
  })
})

const placesOf = async (partition: 'hashed' | 'named', shardBy: string) => {
  const store = objectsInProcess().store({ shardBy })
  const { limiter } = setUpTelemetry(sdk, [rpm], { store, telemetry: { partition } })
  await limiter.check(ACME)
  return sdk.spans().at(-1)?.attributes['rate_limiter.place']
}

describe('the partition of a span', () => {
  const perUser = fixedWindow({
    name: 'rpm',
    limit: 2,
    window: '1m',
    per: ['tenant', 'user', 'route'],
  })
  const subject = { tenant: 'acme', user: 'u_17', route: 'evaluate' }

  const partitionOf = async (
    partition: 'hashed' | 'named' | 'none' | ((value: string) => string),
  ) => {
    const { limiter } = setUpTelemetry(sdk, [perUser], { telemetry: { partition } })
    await limiter.check(subject)
    const entries = Object.entries(sdk.spans().at(-1)?.attributes ?? {})
    return entries.filter(([name]) => name.startsWith('rate_limiter.partition'))
  }

  it('is hashed by default, named or left out by choice, or made by a function', async () => {
    expect(await partitionOf('hashed')).toEqual([
      ['rate_limiter.partition.tenant', expect.stringMatching(/^[0-9a-f]{16}$/)],
      ['rate_limiter.partition.user', expect.stringMatching(/^[0-9a-f]{16}$/)],
    ])
    expect(await partitionOf('named')).toEqual([
      ['rate_limiter.partition.tenant', 'acme'],
      ['rate_limiter.partition.user', 'u_17'],
    ])
    expect(await partitionOf('none')).toEqual([])
    expect(await partitionOf((value) => value.slice(0, 1))).toEqual([
      ['rate_limiter.partition.tenant', 'a'],
      ['rate_limiter.partition.user', 'u'],
    ])
  })

  it('is named by the place only where names are', async () => {
    expect(await placesOf('named', 'tenant')).toBe('tenant=acme')
    expect(await placesOf('hashed', 'tenant')).toBeUndefined()
    expect(await placesOf('hashed', 'global')).toBe('home')
  })

  it('never appears in the name of anything else', async () => {
    await partitionOf('hashed')
    expect(JSON.stringify(sdk.spans().map(({ attributes }) => attributes))).not.toMatch(/acme|u_17/)
  })
})
