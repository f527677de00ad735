import { createLimiter, fixedWindow, StoreError, type Decision, type Store } from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { regional } from '@sluice/core/regional'
import { release, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME, collectProblems } from '../../support/limiters.ts'
import { Watched } from '../../support/watched-store.ts'
import { limiterIn, allowedOf, BUDGET, BURST, DAILY, LIMIT, per, type Policies } from './regions.ts'

function setUp(policies: Policies, perRegion: string[] = []) {
  const [home, here] = [new Watched(memory()), new Watched(memory())]
  const { problems, listener } = collectProblems()
  const limiter = createLimiter({
    store: regional({ home, here, perRegion }),
    policies,
    onStoreError: 'allow',
    extensions: [listener],
  })
  return { home, here, limiter, problems }
}

describe('a region that is cut off', () => {
  it('serves what it holds, denies the rest, and goes on when home is back', async () => {
    const { home, limiter, problems } = setUp([DAILY])
    for (let call = 0; call < 40; call += 1) await limiter.check(ACME)
    home.isDown = true
    const cut: Decision[] = []
    for (let call = 0; call < 300; call += 1) cut.push(await limiter.check(ACME))
    const served = allowedOf(cut)
    expect(served).toBeGreaterThan(10)
    expect(served).toBeLessThan(250)
    expect(cut.slice(0, served).every(({ source }) => source === 'lease')).toBe(true)
    expect(cut.at(-1)).toMatchObject({
      allowed: false,
      place: 'home',
      degraded: { cause: 'store_unreachable', mode: 'deny' },
    })
    expect(problems).toMatchObject([
      {
        code: 'store_unreachable',
        place: 'home',
        message: expect.stringContaining('serves the units that it holds, and denies the rest'),
      },
    ])
    home.isDown = false
    const after: Decision[] = []
    for (let call = 0; call < 600; call += 1) after.push(await limiter.check(ACME))
    expect(after[0]).toMatchObject({ allowed: true, degraded: undefined })
    expect(40 + served + allowedOf(after)).toBeLessThanOrEqual(LIMIT)
    expect(problems.slice(1).map(({ code }) => code)).toEqual(['store_recovered'])
  })

  it('loses no large blocks to a home whose replies are lost', async () => {
    const [home, here] = [memory(), memory()]
    let isLosing = false
    const lossy: Store = {
      ...home,
      async check(request) {
        const reply = await home.check(request)
        if (isLosing && request.apply) throw new StoreError('store_timeout', 'late')
        return reply
      },
    }
    const limiter = limiterIn(lossy, here, [DAILY])
    let served = 0
    for (let call = 0; call < 100; call += 1) served += Number((await limiter.check(ACME)).allowed)
    isLosing = true
    for (let round = 0; round < 10; round += 1) {
      const checks = Array.from({ length: 20 }, () => limiter.check(ACME))
      served += allowedOf(await Promise.all(checks))
    }
    isLosing = false
    for (let call = 0; call < 600; call += 1) served += Number((await limiter.check(ACME)).allowed)
    // Of 200 decisions one unit each, and the blocks, which become small at once.
    expect(LIMIT - served).toBeLessThan(250)
  })

  it('settles what it has reserved when home is back, and once', async () => {
    const { home, limiter } = setUp([BUDGET])
    const made = await reserve(limiter, ACME, { cost: { usd: 4_000_000 } })
    if (!made.allowed) throw new Error('it fits')
    home.isDown = true
    // More than was reserved is owed to home.
    await expect(made.settle({ usd: 6_000_000 })).rejects.toMatchObject({ place: 'home' })
    home.isDown = false
    const settled = await made.settle({ usd: 6_000_000 })
    expect(settled.overrun).toEqual({ usd: 2_000_000 })
    expect((await limiter.peek(ACME, { cost: { usd: 4_000_001 } })).allowed).toBe(false)
    expect((await limiter.peek(ACME, { cost: { usd: 4_000_000 } })).allowed).toBe(true)
  })

  it('still counts by itself what is named perRegion', async () => {
    const { home, limiter } = setUp([BURST], ['burst'])
    home.isDown = true
    const decisions: Decision[] = []
    for (let call = 0; call < 8; call += 1) decisions.push(await limiter.check(ACME))
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    expect(allowedOf(decisions)).toBe(5)
  })

  it('denies what all share if its own store fails, and decides the rest by onStoreError', async () => {
    const { here, limiter, problems } = setUp([BURST, DAILY], ['burst'])
    here.isDown = true
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      place: 'here',
      degraded: { cause: 'store_unreachable', mode: 'deny' },
    })
    expect(problems).toMatchObject([
      {
        place: 'here',
        message: expect.stringMatching(/^here: down.*denies what all regions share/),
      },
    ])
    const alone = setUp([BURST], ['burst'])
    alone.here.isDown = true
    expect(await alone.limiter.check(ACME)).toMatchObject({
      place: 'here',
      degraded: { mode: 'allow' },
    })
  })

  it('denies nothing for a leased policy that only observes', async () => {
    const shadow = lease(
      fixedWindow({ name: 'trial', limit: 50, window: '1d', per, mode: 'shadow' }),
    )
    for (const down of ['home', 'here'] as const) {
      const set = setUp([BURST, shadow], ['burst'])
      set[down].isDown = true
      expect(await set.limiter.check(ACME)).toMatchObject({
        allowed: true,
        place: down,
        degraded: { mode: 'allow' },
      })
    }
  })

  it('takes no units for a reservation that is to be released', async () => {
    const { limiter } = setUp([BUDGET])
    const options = { cost: { usd: 5 }, unsettled: release() }
    await expect(reserve(limiter, ACME, options)).rejects.toThrow(
      /unsettled: must be left out: the leased policy "budget"/,
    )
  })
})
