import {
  projectLimits,
  rollout,
  slidingWindow,
  slidingWindows,
  type Policy,
  type PolicyRule,
  type Store,
} from '@sluice/core'
import { expect, it } from 'vitest'
import { remaining, spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { NOON, HOUR } from '../../support/times.ts'
import { setUp } from './case.ts'

const per = ['tenant']

/** Three per 10 s, five per minute. */
const two = (mode: 'enforce' | 'shadow' = 'enforce'): Policy =>
  slidingWindows({
    name: 'p',
    mode,
    per,
    windows: { short: { limit: 3, window: '10s' }, long: { limit: 5, window: '1m' } },
  })

export function logs(make: () => Store): void {
  it('each window over one log is an exact policy of its own', async () => {
    const limiter = setUp(make(), [two()])
    await spend(limiter, 3)
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      violated: { name: 'p.short', windowMs: 10_000, limit: 3 },
      retryAfterMs: 10_000,
      policies: [
        { name: 'p.short', fits: false, remaining: 0, resetMs: 10_000, retryAfterMs: 10_000 },
        { name: 'p.long', fits: true, remaining: 2, resetMs: 60_000, retryAfterMs: 0 },
      ],
    })
    limiter.clock.advance(9_999)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    limiter.clock.advance(1)
    await spend(limiter, 2)
    expect(await limiter.check(ACME)).toMatchObject({
      violated: { name: 'p.long' },
      retryAfterMs: 50_000,
      policies: [
        { fits: true, remaining: 1 },
        { fits: false, remaining: 0 },
      ],
    })
    limiter.clock.advance(50_000)
    expect(remaining(await limiter.check(ACME))).toEqual({ 'p.short': 2, 'p.long': 2 })
  })

  it('a request is charged once in a log, and a denied one not at all', async () => {
    const store = make()
    const limiter = setUp(store, [
      two(),
      slidingWindow({ name: 'other', limit: 1, window: '1m', per }),
    ])
    await spend(limiter, 1)
    expect(await limiter.check(ACME)).toMatchObject({ violated: { name: 'other' } })
    expect(remaining(await limiter.peek(ACME, { cost: 0 }))).toEqual({
      'p.short': 2,
      'p.long': 4,
      other: 0,
    })
  })

  it('finds when a cost of any size fits each window, or that it never does', async () => {
    const limiter = setUp(make(), [two()])
    await spend(limiter, 1)
    limiter.clock.advance(4_000)
    await spend(limiter, 1, ACME, { cost: 2 })
    expect(await limiter.check(ACME, { cost: 2 })).toMatchObject({ retryAfterMs: 10_000 })
    expect(await limiter.check(ACME, { cost: 3 })).toMatchObject({
      retryAfterMs: 56_000,
      policies: [{ retryAfterMs: 10_000 }, { retryAfterMs: 56_000 }],
    })
    expect(await limiter.check(ACME, { cost: 4 })).toMatchObject({
      reason: 'cost_exceeds_limit',
      violated: { name: 'p.short' },
      policies: [{ retryAfterMs: null }, { retryAfterMs: 60_000 }],
    })
  })

  it('a window that is added to a log counts its earlier entries', async () => {
    const store = make()
    await spend(setUp(store, [two()]), 3)
    const more = slidingWindows({
      name: 'p',
      per,
      windows: { middle: { limit: 4, window: '30s' }, long: { limit: 5, window: '1m' } },
    })
    expect(remaining(await setUp(store, [more]).check(ACME))).toEqual({
      'p.middle': 0,
      'p.long': 1,
    })
  })

  it('logs of different units are different logs', async () => {
    const tokens = slidingWindows({
      name: 'p',
      per,
      unit: 'token',
      windows: { tokens: { limit: 100, window: '1m' } },
    })
    const limiter = setUp(make(), [two(), tokens])
    await spend(limiter, 1, ACME, { cost: { token: 40 } })
    expect(remaining(await limiter.peek(ACME, { cost: { token: 0 } }))).toEqual({
      'p.short': 2,
      'p.long': 4,
      'p.tokens': 60,
    })
  })

  it('begins again after a reset, for that partition only', async () => {
    const limiter = setUp(make(), [two()])
    await spend(limiter, 3)
    await spend(limiter, 3, { tenant: 'other' })
    await limiter.reset(ACME)
    expect(remaining(await limiter.check(ACME))).toEqual({ 'p.short': 2, 'p.long': 4 })
    expect(await limiter.check({ tenant: 'other' })).toMatchObject({ allowed: false })
  })

  it('holds a project to its minute, hour and day, each by its limit', async () => {
    const limiter = setUp(make(), [projectLimits({ minute: 5, hour: 8, day: 11 })])
    const project = { project: 'p1' }
    await spend(limiter, 5, project)
    expect(await limiter.check(project)).toMatchObject({ violated: { name: 'project.minute' } })
    limiter.clock.advance(60_000)
    await spend(limiter, 3, project)
    expect(await limiter.check(project)).toMatchObject({
      violated: { name: 'project.hour', scope: 'project' },
      retryAfterMs: HOUR - 60_000,
    })
    limiter.clock.set(NOON + HOUR)
    await spend(limiter, 3, project)
    expect(await limiter.check(project)).toMatchObject({
      violated: { name: 'project.day' },
      retryAfterMs: 23 * HOUR,
      policies: [{ remaining: 2 }, { remaining: 2 }, { remaining: 0 }],
    })
    const defaults = await setUp(make(), [projectLimits()]).peek(project)
    expect(defaults.policies.map(({ name, limit, windowMs }) => [name, limit, windowMs])).toEqual([
      ['project.minute', 60, 60_000],
      ['project.hour', 1_000, HOUR],
      ['project.day', 10_000, 24 * HOUR],
    ])
  })

  it('reports each window that would deny in shadow mode, and denies nothing', async () => {
    const limiter = setUp(make(), [two('shadow')])
    await spend(limiter, 3)
    const fourth = await limiter.check(ACME)
    expect(fourth).toMatchObject({ allowed: true, delayMs: 0 })
    expect(fourth.policies.map(({ name, fits, enforced }) => [name, fits, enforced])).toEqual([
      ['p.short', false, false],
      ['p.long', true, false],
    ])
  })

  it('counts in its enforced windows a request that a window in shadow mode would deny', async () => {
    const [short, long] = two()() as [PolicyRule, PolicyRule]
    const shadow = Object.freeze({ ...short, rollout: rollout({ enforced: 0 }) })
    const limiter = setUp(make(), [(() => [shadow, long]) as Policy])
    await spend(limiter, 5)
    const sixth = await limiter.check(ACME)
    expect(sixth).toMatchObject({ allowed: false, violated: { name: 'p.long' } })
    expect(remaining(sixth)).toEqual({ 'p.short': 0, 'p.long': 0 })
  })
}
