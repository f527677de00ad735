import { slidingWindow } from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { setUpLeases, settled } from './support.ts'

const rpm = lease(slidingWindow({ name: 'rpm', limit: 1_000, window: '1m', per: ['tenant'] }), {
  duration: '2s',
  most: 16,
})

const setUp = (policies = [rpm]) => setUpLeases(policies, { leases: { fetchAhead: true } })

/** Makes decisions one after another, with time for replies in between. Returns their sources. */
async function sources({ limiter }: Pick<ReturnType<typeof setUp>, 'limiter'>, count: number) {
  const all: string[] = []
  for (let time = 0; time < count; time += 1) {
    all.push((await limiter.check(ACME)).source)
    await settled()
  }
  return all
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('a block that is fetched ahead', () => {
  it('lets no decision of steady traffic wait for the store', async () => {
    const one = setUp()
    expect((await sources(one, 3)).slice(0, 2)).toEqual(['store', 'store'])
    expect(new Set(await sources(one, 200))).toEqual(new Set(['lease']))
    expect(one.shared.checks.length).toBeLessThanOrEqual(20)
  })

  it('follows a lease that is ending while traffic is slow', async () => {
    const one = setUp()
    await sources(one, 15)
    const slow: string[] = []
    for (let time = 0; time < 40; time += 1) {
      one.clock.advance(200)
      slow.push(...(await sources(one, 1)))
    }
    expect(new Set(slow)).toEqual(new Set(['lease']))
  })

  it('is one at a time, whatever the number of decisions', async () => {
    const one = setUp()
    await sources(one, 3)
    const before = one.shared.checks.length
    const resume = one.shared.holdReplies()
    await spend(one.limiter, 4)
    expect(one.shared.checks.length - before).toBe(1)
    resume()
  })

  it('leaves others to take blocks if its own request never ends, as on Workers', async () => {
    vi.stubGlobal('WebSocketPair', vi.fn())
    const one = setUp()
    await sources(one, 3)
    one.shared.holdReplies()
    await spend(one.limiter, 4)
    one.shared.answerAgain()
    const before = one.shared.checks.length
    const rest = await sources(one, 60)
    expect(rest.filter((source) => source === 'store').length).toBeLessThanOrEqual(5)
    expect(one.shared.checks.length - before).toBeLessThanOrEqual(5)
  })

  it('does not deny a decision, and is not asked for again, when units run out', async () => {
    const few = lease(slidingWindow({ name: 'few', limit: 12, window: '1m', per: ['tenant'] }))
    const one = setUp([few])
    await sources(one, 12)
    expect((await one.limiter.check(ACME)).allowed).toBe(false)
    expect(one.shared.checks.length).toBeLessThanOrEqual(13)
  })

  it('that fails is taken by a decision, which tells', async () => {
    const one = setUp()
    await sources(one, 3)
    one.shared.isDown = true
    expect(await sources(one, 4)).toEqual(['lease', 'lease', 'lease', 'lease'])
    expect((await one.limiter.check(ACME)).degraded?.cause).toBe('store_unreachable')
  })

  it('is dropped by a reset, and given back with the lease before it', async () => {
    const one = setUp()
    await sources(one, 10)
    await one.store.returnUnits()
    expect((await one.start().limiter.peek(ACME)).policies[0]?.remaining).toBe(1_000 - 10)
    await sources(one, 10)
    await one.limiter.reset(ACME)
    expect((await one.start().limiter.peek(ACME)).policies[0]?.remaining).toBe(1_000)
    expect((await one.limiter.check(ACME)).source).toBe('store')
  })
})
