import { slidingWindow, type Decision, type Limiter } from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { setUpLeases, settled } from './support.ts'

const minute = { limit: 1_000, window: '1m', per: ['tenant'] } as const
const rpm = lease(slidingWindow({ name: 'rpm', ...minute }), { duration: '2s' })
const plain = slidingWindow({ name: 'plain', limit: 3, window: '1m', per: ['tenant'] })

/** The units that the first policy has left. */
const unitsOf = (decision: Decision): number | undefined => decision.policies[0]?.remaining

/** Decisions that begin at the same moment. */
const together = (limiter: Limiter, count: number): Promise<Decision[]> =>
  Promise.all(Array.from({ length: count }, () => limiter.check(ACME)))

describe('while a block is on its way, others', () => {
  it('wait for it, and for one more that is for all of them', async () => {
    const { limiter, shared, start } = setUpLeases([rpm])
    const decisions = await together(limiter, 100)
    expect(shared.checks).toHaveLength(2)
    expect(decisions.filter(({ source }) => source === 'lease')).toHaveLength(98)
    // The first took a block of one. The next is for 99 that wait, and one more.
    expect(unitsOf(await start().limiter.peek(ACME))).toBe(1_000 - 1 - 100)
    expect(decisions.map(unitsOf)).toEqual(Array.from({ length: 100 }, (_, index) => 999 - index))
  })

  it('go to the store by themselves if it is denied, or does not reach', async () => {
    const scarce = slidingWindow({ name: 'scarce', limit: 2, window: '1m', per: ['tenant'] })
    const { limiter, shared } = setUpLeases([lease(scarce)])
    const decisions = await together(limiter, 10)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(2)
    expect(shared.checks).toHaveLength(10)
  })

  it('go to the store by themselves if it fails', async () => {
    const { limiter, shared } = setUpLeases([rpm])
    shared.isDown = true
    const decisions = await together(limiter, 10)
    expect(decisions.every(({ degraded }) => degraded?.cause === 'store_unreachable')).toBe(true)
    shared.isDown = false
    expect(await limiter.check(ACME)).toMatchObject({ source: 'store', degraded: undefined })
  })

  it('do not wait for it if the store has to count something else of theirs', async () => {
    const { limiter, shared } = setUpLeases([rpm, plain])
    const resume = shared.holdReplies()
    const decisions = together(limiter, 3)
    await settled()
    expect(shared.checks).toHaveLength(3)
    resume()
    await decisions
  })

  it('wait for blocks of two policies, and take no unit of one while they wait for the other', async () => {
    const all = lease(slidingWindow({ name: 'all', ...minute, per: 'global' }))
    const { limiter, shared, start } = setUpLeases([rpm, all])
    await together(limiter, 20)
    expect(shared.checks).toHaveLength(2)
    const { policies } = await start().limiter.peek(ACME)
    expect(policies.map(({ remaining }) => remaining)).toEqual([979, 979])
  })
})

describe('on Workers, where requests cannot wait for each other, others', () => {
  beforeEach(() => {
    vi.stubGlobal('WebSocketPair', vi.fn())
  })

  afterEach(() => {
    vi.unstubAllGlobals()
  })

  it('ask for their own cost only', async () => {
    const { limiter, shared, start } = setUpLeases([rpm])
    await spend(limiter, 3)
    await together(limiter, 10)
    const blocks = shared.checks.slice(2).filter(({ fit }) => fit)
    expect([shared.checks.length - 2, blocks.length]).toEqual([10, 1])
    // Nine of their own, and a block of four.
    expect(unitsOf(await start().limiter.peek(ACME))).toBe(1_000 - 3 - 9 - 4)
  })

  it('ask for a block if that request was cut off', async () => {
    const { limiter, shared, clock } = setUpLeases([rpm])
    await spend(limiter, 3)
    shared.holdReplies()
    void limiter.check(ACME)
    await settled()
    shared.answerAgain()
    clock.advance(2_000)
    await spend(limiter, 1)
    expect(shared.checks.at(-1)?.fit).toBeDefined()
  })
})
