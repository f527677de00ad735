import {
  rollout,
  slidingWindow,
  slidingWindows,
  type Decision,
  type Limiter,
  type Policy,
  type PolicyOptions,
  type RolloutOptions,
} from '@sluice/core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { storesOf } from '../../support/stores.ts'

type Options = Pick<PolicyOptions, 'mode' | 'rollout'>

const window = (name: string, limit: number, options: Options = {}): Policy =>
  slidingWindow({ name, limit, window: '1m', per: ['tenant'], ...options })

describe.each(['memory', 'redis, built-in transport'] as const)('in %s', (name) => {
  const make = storesOf(name)
  const limiterOf = (policies: Policy[]): Limiter => setUp(policies, { store: make() }).limiter

  it('a policy in shadow mode counts like an enforced one, never denies, and reports its denials', async () => {
    const limiter = limiterOf([window('real', 5), window('trial', 2, { mode: 'shadow' })])
    const decisions: Decision[] = []
    for (let time = 0; time < 6; time += 1) decisions.push(await limiter.check(ACME))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false])
    expect(decisions.map(remaining)).toEqual([
      { real: 4, trial: 1 },
      { real: 3, trial: 0 },
      { real: 2, trial: 0 },
      { real: 1, trial: 0 },
      { real: 0, trial: 0 },
      { real: 0, trial: 0 },
    ])
    const [, , third, , , last] = decisions
    expect(third?.policies[1]).toMatchObject({ fits: false, enforced: false, retryAfterMs: 60_000 })
    expect(third).toMatchObject({ retryAfterMs: 0, reason: undefined, violated: undefined })
    expect(last).toMatchObject({ violated: { name: 'real' }, reason: 'rate_limit_exceeded' })
  })

  it('shadow mode allows a cost above the limit, and does not count denials of other policies', async () => {
    const limiter = limiterOf([window('trial', 2, { mode: 'shadow' }), window('real', 5)])
    const large = await limiter.check(ACME, { cost: 4 })
    expect(large).toMatchObject({
      allowed: true,
      policies: [{ fits: false, retryAfterMs: null }, {}],
    })
    expect(remaining(large)).toEqual({ trial: 2, real: 1 })
    expect(remaining(await limiter.check(ACME, { cost: 2 }))).toEqual({ trial: 2, real: 1 })
  })

  it('a request that one window of a log in shadow mode would deny counts in none of them', async () => {
    const windows = {
      minute: { limit: 5, window: '1m' },
      hour: { limit: 2, window: '1h' },
    } as const
    const log = slidingWindows({ name: 'log', windows, per: ['tenant'], mode: 'shadow' })
    const limiter = limiterOf([log])
    for (let time = 0; time < 5; time += 1) await limiter.check(ACME)
    expect(remaining(await limiter.peek(ACME))).toEqual({ 'log.minute': 3, 'log.hour': 0 })
  })

  it('a policy that is enforced for some partitions denies only those', async () => {
    const limiter = limiterOf([window('half', 1, { rollout: rollout({ enforced: 50 }) })])
    const outcomes = { denied: 0, reported: 0 }
    for (let tenant = 0; tenant < 60; tenant += 1) {
      await limiter.check({ tenant: `t${tenant}` })
      const second = await limiter.check({ tenant: `t${tenant}` })
      expect(second.policies[0]?.fits).toBe(false)
      outcomes[second.allowed ? 'reported' : 'denied'] += 1
      expect(second.allowed).toBe(second.policies[0]?.enforced === false)
    }
    expect(outcomes.denied).toBeGreaterThan(15)
    expect(outcomes.reported).toBeGreaterThan(15)
  })
})

describe('a percentage of partitions', () => {
  const TENANTS = Array.from({ length: 10_000 }, (_, index) => ({ tenant: `tenant-${index}` }))

  /** The tenants for which a policy is enabled, and those for which it is enforced. */
  async function chosen(options: RolloutOptions) {
    const policies = [window('p', 5, { rollout: rollout(options) })]
    const { limiter } = setUp(policies)
    const [enabled, enforced] = [new Set<string>(), new Set<string>()]
    for (const subject of TENANTS) {
      const { policies: states } = await limiter.peek(subject)
      if (states.length > 0) enabled.add(subject.tenant)
      if (states[0]?.enforced) enforced.add(subject.tenant)
    }
    return { enabled, enforced }
  }

  it.each([0, 1, 1.5, 10, 50, 99, 100])('of %d selects that share of them', async (percent) => {
    const { enabled } = await chosen({ enabled: percent })
    expect(Math.abs(enabled.size / 100 - percent)).toBeLessThan(1.5)
    const { enforced } = await chosen({ enforced: percent })
    expect(Math.abs(enforced.size / 100 - percent)).toBeLessThan(1.5)
  })
  it.each([0, 100])('of %i selects none or all of them', async (percent) => {
    const { enabled, enforced } = await chosen({ enabled: percent, enforced: percent })
    expect([enabled.size, enforced.size]).toEqual([percent * 100, percent * 100])
  })
  it('selects the same ones each time, including those of a smaller percentage', async () => {
    const [small, again, large] = await Promise.all([
      chosen({ enabled: 10 }),
      chosen({ enabled: 10 }),
      chosen({ enabled: 25 }),
    ])
    expect(again).toEqual(small)
    expect([...small.enabled].every((tenant) => large.enabled.has(tenant))).toBe(true)
  })
  it('selects the enforced ones among the enabled, independently', async () => {
    const { enabled, enforced } = await chosen({ enabled: 50, enforced: 50 })
    expect([...enforced].every((tenant) => enabled.has(tenant))).toBe(true)
    expect(Math.abs(enforced.size / 100 - 25)).toBeLessThan(1.5)
  })
  it('selects the same ones for all windows of a log', async () => {
    const windows = {
      minute: { limit: 5, window: '1m' },
      hour: { limit: 9, window: '1h' },
    } as const
    const half = rollout({ enabled: 50 })
    const policies = [slidingWindows({ name: 'log', windows, per: ['tenant'], rollout: half })]
    const { limiter } = setUp(policies)
    const counts = new Set<number>()
    for (const subject of TENANTS) counts.add((await limiter.peek(subject)).policies.length)
    expect([...counts].toSorted((a, b) => a - b)).toEqual([0, 2])
  })
  it('selects other ones for each policy', async () => {
    const policies = ['p', 'q'].map((name) =>
      window(name, 5, { rollout: rollout({ enabled: 50 }) }),
    )
    const { limiter } = setUp(policies)
    const counts = [0, 0, 0]
    for (const subject of TENANTS) counts[(await limiter.peek(subject)).policies.length]! += 1
    expect(Math.abs(counts[1]! / 100 - 50)).toBeLessThan(2)
  })
  it('reports a policy that is left out, and counts nothing', async () => {
    const policies = [window('p', 1, { rollout: rollout({ enabled: 0 }) })]
    const { limiter } = setUp(policies)
    for (let time = 0; time < 3; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({
        allowed: true,
        skipped: [{ name: 'p', why: 'not_enabled' }],
      })
    }
  })
})

describe('a rollout by request', () => {
  it('counts and denies a share of requests, also of one partition for everyone', async () => {
    // Chance goes through the hundred percent, over and over.
    let turn = 0
    const random = vi
      .spyOn(Math, 'random')
      .mockImplementation(() => (((turn += 1) * 37) % 100) / 100 + 0.005)
    onTestFinished(() => random.mockRestore())
    const policy = slidingWindow({
      name: 'all',
      limit: 10,
      window: '1m',
      per: 'global',
      rollout: rollout({ enforced: 20, by: 'request' }),
    })
    const { limiter } = setUp([policy])
    const decisions: Decision[] = []
    for (let time = 0; time < 110; time += 1) decisions.push(await limiter.check(ACME))
    const over = decisions.slice(10)
    expect(decisions.slice(0, 10).every(({ allowed }) => allowed)).toBe(true)
    expect(over.filter(({ allowed }) => !allowed)).toHaveLength(20)
    expect(over.every(({ policies }) => policies[0]?.fits === false)).toBe(true)
  })

  it('skips the share that is not enabled', async () => {
    let seed = 1
    const random = vi.spyOn(Math, 'random').mockImplementation(() => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    })
    onTestFinished(() => random.mockRestore())
    const policy = slidingWindow({
      name: 'all',
      limit: 1_000,
      window: '1m',
      per: ['tenant'],
      rollout: rollout({ enabled: 30, enforced: 100, by: 'request' }),
    })
    const { limiter } = setUp([policy])
    let counted = 0
    for (let time = 0; time < 1_000; time += 1) {
      counted += (await limiter.check(ACME)).policies.length
    }
    expect(counted).toBeGreaterThan(270)
    expect(counted).toBeLessThan(330)
  })

  it.each([0, 100])('of %i percent asks nobody', async (percent) => {
    const selection = rollout({ enabled: percent, enforced: percent, by: 'request' })
    const answers = Array.from({ length: 1_000 }, () => [
      selection.isEnabled('p', 'x'),
      selection.isEnforced('p', 'x'),
    ])
    expect(answers.flat().every((answer) => answer === (percent === 100))).toBe(true)
  })

  it('is refused by any other name', () => {
    expect(() => rollout({ by: 'user' as 'request' })).toThrow('rollout.by')
  })
})
