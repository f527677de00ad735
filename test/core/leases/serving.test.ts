import { defineExtension, fixedWindow, slidingWindow, type Decision } from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { setUpLeases, settled } from './support.ts'

const minute = { limit: 1_000, window: '1m', per: ['tenant'] } as const
const rpm = lease(slidingWindow({ name: 'rpm', ...minute }), { duration: '2s' })
const plain = slidingWindow({ name: 'plain', limit: 3, window: '1m', per: ['tenant'] })

/** The units that the first policy has left. */
const unitsOf = (decision: Decision): number | undefined => decision.policies[0]?.remaining

describe('leases', () => {
  it('grow with the traffic: 63 decisions take 6 calls, then 50 take one', async () => {
    const { limiter, shared } = setUpLeases([rpm])
    await spend(limiter, 63)
    expect(shared.checks).toHaveLength(6)
    await spend(limiter, 50)
    expect(shared.checks).toHaveLength(7)
    await spend(limiter, 50)
    expect(shared.checks).toHaveLength(8)
  })

  it('take no more than asked for while traffic is slow', async () => {
    const { limiter, shared, clock } = setUpLeases([rpm])
    for (let time = 0; time < 10; time += 1) {
      await spend(limiter, 1)
      clock.advance(2_000)
    }
    expect(shared.checks).toHaveLength(10)
    expect(unitsOf(await limiter.peek(ACME))).toBe(990)
  })

  it('shrink when traffic slows down', async () => {
    const { limiter, shared, clock } = setUpLeases([rpm])
    await spend(limiter, 31)
    for (let time = 0; time < 8; time += 1) {
      clock.advance(2_000)
      await spend(limiter, 1)
    }
    await settled()
    expect(unitsOf(await limiter.peek(ACME))).toBe(1_000 - 31 - 8)
    expect(shared.returns).toBe(4)
  })

  it('count down what is left, and say so in each decision', async () => {
    const { limiter, clock } = setUpLeases([rpm])
    const left: unknown[] = []
    for (let time = 0; time < 7; time += 1) {
      const { source, policies } = await limiter.check(ACME)
      left.push([source, policies[0]?.remaining, policies[0]?.resetMs])
      clock.advance(1)
    }
    expect(left).toEqual([
      ['store', 999, 62_000],
      ['store', 998, 61_999],
      ['lease', 997, 61_998],
      ['store', 996, 61_997],
      ['lease', 995, 61_996],
      ['lease', 994, 61_995],
      ['lease', 993, 61_994],
    ])
  })

  it('end a millisecond before their duration is over, counted from before the request', async () => {
    const { limiter, shared, clock } = setUpLeases([rpm])
    await spend(limiter, 2)
    clock.advance(1_998)
    expect(await limiter.check(ACME)).toMatchObject({ source: 'lease' })
    await spend(limiter, 2)
    const calls = shared.checks.length
    clock.advance(1_999)
    expect(await limiter.check(ACME)).toMatchObject({ source: 'store' })
    expect(shared.checks).toHaveLength(calls + 1)
  })

  it('are shorter if the reply is slow', async () => {
    const { limiter, shared, clock } = setUpLeases([rpm])
    await spend(limiter, 1)
    const resume = shared.holdReplies()
    const slow = limiter.check(ACME)
    await settled()
    clock.advance(1_999)
    resume()
    await slow
    expect(await limiter.check(ACME)).toMatchObject({ source: 'store' })
  })

  it('end with the window if it is fixed', async () => {
    const hourly = fixedWindow({ name: 'hourly', limit: 20, window: '1h', per: ['tenant'] })
    const { limiter, clock } = setUpLeases([lease(hourly, { duration: '10s' })])
    clock.set(Date.UTC(2026, 0, 1, 11, 59, 58))
    await spend(limiter, 2)
    clock.advance(1_998)
    expect(await limiter.check(ACME)).toMatchObject({ source: 'lease' })
    await spend(limiter, 2)
    clock.advance(2)
    const next = await limiter.check(ACME)
    expect([next.source, unitsOf(next)]).toEqual(['store', 19])
  })

  it('take a quarter of what is free at most, so that others get some, too', async () => {
    const scarce = slidingWindow({ name: 'scarce', limit: 16, window: '1m', per: ['tenant'] })
    const { limiter, start } = setUpLeases([lease(scarce, { duration: '2s' })])
    // Blocks of 1, 2, 3 and 2; then one of the 8 free ones serves this decision, and one is left over.
    await spend(limiter, 9)
    const other = await start().limiter.check(ACME, { cost: 6 })
    expect([other.allowed, unitsOf(other)]).toEqual([true, 0])
  })

  it('multiply the cost of the decision that takes them', async () => {
    const tokens = slidingWindow({
      name: 'tpm',
      unit: 'token',
      limit: 100_000,
      window: '1m',
      per: ['tenant'],
    })
    const { limiter, shared } = setUpLeases([lease(tokens, { duration: '2s' })])
    const cost = { cost: { token: 700 } }
    await spend(limiter, 7, ACME, cost)
    expect(shared.checks).toHaveLength(3)
    const { source, policies } = await limiter.check(ACME, { cost: { token: 900 } })
    expect([source, policies[0]?.remaining]).toEqual(['store', 100_000 - 7 * 700 - 900])
  })

  it('serve a cost of 0 without a call', async () => {
    const tokens = lease(slidingWindow({ name: 'tpm', unit: 'token', ...minute }))
    const { limiter, shared } = setUpLeases([rpm, tokens])
    await spend(limiter, 3, ACME, { cost: { token: 0 } })
    expect(shared.checks).toHaveLength(2)
  })
})

describe('a decision with other policies, too,', () => {
  it('asks the store for the others only', async () => {
    const { limiter, shared } = setUpLeases([rpm, plain])
    await spend(limiter, 3)
    expect(shared.checks.map(({ entries }) => entries.map(({ policy }) => policy.name))).toEqual([
      ['rpm', 'plain'],
      ['rpm', 'plain'],
      ['plain'],
    ])
  })

  it('puts the units back if these deny', async () => {
    const { limiter } = setUpLeases([rpm, plain])
    await spend(limiter, 3)
    await limiter.check(ACME)
    await limiter.check(ACME)
    const denied = await limiter.check(ACME)
    expect(denied.policies.map(({ charged, remaining }) => [charged, remaining])).toEqual([
      [false, 997],
      [false, 0],
    ])
    expect(denied).toMatchObject({ allowed: false, violated: { name: 'plain' } })
  })

  it('puts the units back each time that these deny, while it holds some', async () => {
    const ten = slidingWindow({ name: 'ten', limit: 10, window: '1m', per: ['tenant'] })
    const { limiter } = setUpLeases([rpm, ten])
    await spend(limiter, 10)
    for (let time = 0; time < 4; time += 1) {
      const denied = await limiter.check(ACME)
      expect(denied).toMatchObject({ allowed: false, violated: { name: 'ten' } })
      expect(unitsOf(denied)).toBe(990)
    }
  })

  it('puts the units back if the store fails, which is a degraded decision', async () => {
    const { limiter, shared } = setUpLeases([rpm, plain])
    await spend(limiter, 2)
    shared.isDown = true
    expect(await limiter.check(ACME)).toMatchObject({ degraded: { mode: 'local' } })
    shared.isDown = false
    const { policies } = await limiter.check(ACME)
    expect(policies[0]?.remaining).toBe(997)
  })
})

describe('while the store fails, leases', () => {
  it('go on serving what they hold', async () => {
    const { limiter, shared } = setUpLeases([rpm])
    await spend(limiter, 4)
    shared.isDown = true
    for (let time = 0; time < 3; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({ source: 'lease', degraded: undefined })
    }
    expect(await limiter.check(ACME)).toMatchObject({ degraded: { cause: 'store_unreachable' } })
  })
})

describe('a lease does not serve', () => {
  it('a policy in shadow mode', async () => {
    const shadow = slidingWindow({ name: 'shadow', ...minute, mode: 'shadow' })
    const { limiter, shared } = setUpLeases([lease(shadow)])
    await spend(limiter, 4)
    expect(shared.checks).toHaveLength(4)
    expect(shared.checks.every(({ fit }) => !fit)).toBe(true)
  })

  it('a reservation, which any process can settle', async () => {
    const { limiter, shared, start } = setUpLeases([rpm])
    await spend(limiter, 4)
    const call = await reserve(limiter, ACME, { cost: 10 })
    if (!call.allowed) throw new Error('denied')
    expect(shared.checks.at(-1)?.entries).toHaveLength(1)
    await call.settle(4)
    expect(unitsOf(await start().limiter.peek(ACME))).toBe(1_000 - 7 - 4)
  })
})

it('settings that are read along make a trip every five seconds', async () => {
  const configuration = runtimeConfiguration({ allow: { rpm: ['limit'] } })
  const { limiter, shared, clock } = setUpLeases([rpm], { extensions: [configuration] })
  for (let time = 0; time < 600; time += 1) {
    await spend(limiter, 1)
    clock.advance(10)
  }
  const reading = shared.checks.filter(({ reads }) => reads.length > 0)
  expect(reading).toHaveLength(2)
  expect(reading[1]?.entries).toEqual([])
})

it('a policy that is put into shadow is decided by the store again', async () => {
  let enforced = true
  const modes = defineExtension({
    name: 'modes',
    connect: () => ({ before: () => ({ settings: () => ({ enforced }) }) }),
  })
  const { limiter } = setUpLeases([rpm], { extensions: [modes] })
  await spend(limiter, 5)
  expect((await limiter.check(ACME)).source).toBe('lease')
  enforced = false
  expect((await limiter.check(ACME)).source).not.toBe('lease')
})

it('a peek sees the lease, and takes nothing', async () => {
  const { limiter, shared } = setUpLeases([rpm])
  await spend(limiter, 2)
  const peeks = [await limiter.peek(ACME), await limiter.peek(ACME)]
  expect(
    peeks.map(({ source, policies }) => [source, policies[0]?.remaining, policies[0]?.charged]),
  ).toEqual([
    ['lease', 998, false],
    ['lease', 998, false],
  ])
  expect(shared.checks).toHaveLength(2)
})
