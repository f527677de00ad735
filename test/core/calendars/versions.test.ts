import { manualClock, type Limiter, type Policy } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { running } from '../../suites.ts'
import { spend } from '../../support/decisions.ts'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { DAY, HOUR } from '../../support/times.ts'
import { Random } from '../../world/random.ts'
import { dailyBy, otherwise, storesOfAll } from './support.ts'

const LIMIT = 3
const daily = (zone: string | (() => string)) => dailyBy(LIMIT, { zone })

/** The same policy with tables of time zones in which each end is so much later. */
const later = (policy: Policy, ms: number): Policy =>
  otherwise(policy, ({ since, finish, following }) => ({
    since: since + ms,
    finish: finish + ms,
    following: following + ms,
  }))

/** Two deploys of one policy that compute other ends. */
const DEPLOYS: Readonly<Record<string, readonly [Policy, Policy]>> = {
  'an hour later': [daily('Africa/Casablanca'), later(daily('Africa/Casablanca'), HOUR)],
  'an hour earlier': [daily('Europe/Berlin'), later(daily('Europe/Berlin'), -HOUR)],
  'two hours later': [daily('Asia/Beirut'), later(daily('Asia/Beirut'), 2 * HOUR)],
  'of zones that differ by an hour': [daily('Europe/Berlin'), daily('Europe/London')],
  'of zones that differ by half an hour': [daily('Asia/Kolkata'), daily('Asia/Dhaka')],
  'an hour later, by functions': [
    daily(() => 'Africa/Cairo'),
    later(
      daily(() => 'Africa/Cairo'),
      HOUR,
    ),
  ],
}
const START = Date.parse('2026-02-20T17:30Z')
/** The gate runs ten of them; a run of this file, some weeks. */
const DAYS = running === 'all' ? 40 : 10

describe.each(Object.entries(storesOfAll()))('two versions of tz in %s', (_, make) => {
  it.each(Object.entries(DEPLOYS))('never begin a second budget: %s', async (name, policies) => {
    const store = make()
    const clock = manualClock(START)
    const { problems, listener } = collectProblems()
    const deploys = policies.map(
      (policy) =>
        setUp([policy], { store, clock, extensions: [listener], onStoreError: 'deny' }).limiter,
    )
    const random = new Random(name)
    const ends = new Map<number, number>()
    while (clock() < START + DAYS * DAY) {
      const { allowed, policies: states } = await random.pick(deploys).check(ACME)
      const end = clock() + (states[0]?.resetMs ?? NaN)
      const last = [...ends.keys()].at(-1) ?? end
      // The end that the first caller stored stays until it is reached.
      expect(end).toBe(clock() < last ? last : end)
      ends.set(end, (ends.get(end) ?? 0) + Number(allowed))
      clock.advance(random.whole(1, HOUR))
    }
    expect(Math.max(...ends.values())).toBe(LIMIT)
    expect(ends.size).toBeLessThanOrEqual(DAYS + 2)
    const begins = [...ends.keys()]
    const lengths = begins.slice(1).map((end, index) => end - (begins[index] ?? 0))
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(0.9 * DAY)
    expect(problems).toEqual([])
  })

  const berlin = daily('Europe/Berlin')

  it.each<readonly [string, Policy]>([
    ['a week from now', otherwise(berlin, ({ finish }) => ({ finish: finish + 7 * DAY }))],
    ['before now', otherwise(berlin, ({ since }) => ({ finish: since, following: since }))],
  ])('charge nothing where the end is %s, and report it', async (__, policy) => {
    const store = make()
    const clock = manualClock(START)
    const { problems, listener } = collectProblems()
    const { limiter } = setUp([policy], { store, clock, extensions: [listener] })
    const decision = await limiter.check(ACME)
    expect(decision).toMatchObject({ allowed: false, reason: 'daily_quota_exceeded' })
    expect(decision.policies[0]).toMatchObject({ charged: false, resetMs: 0 })
    expect(decision.policies[0]?.resetsAt).toBeUndefined()
    expect([...new Set(problems.map(({ code }) => code))]).toEqual(['calendar_unknown'])
    expect((await limiter.check(ACME, { cost: 0 })).allowed).toBe(true)
    const { limiter: right } = setUp([berlin], { store, clock })
    await spend(right, LIMIT)
    // In a period that runs, its end is known to all.
    await expectDenied(limiter, 5.5 * HOUR)
    await expectDenied(right, 5.5 * HOUR)
  })

  it.each([
    [(11 * DAY) / 10, true],
    [(11 * DAY) / 10 + 1, false],
  ])('take an end in %d ms: %s', async (ms, isTaken) => {
    const end = { since: START - 1, finish: START + ms, following: START + ms + DAY }
    const { limiter } = setUp([otherwise(berlin, () => end)], {
      store: make(),
      clock: manualClock(START),
      extensions: [collectProblems().listener],
    })
    const { allowed, policies } = await limiter.check(ACME)
    expect([allowed, policies[0]?.resetMs]).toEqual([isTaken, isTaken ? ms : 0])
  })

  it.each([
    [(9 * DAY) / 10, 0],
    [(9 * DAY) / 10 - 1, DAY],
  ])('begin a day of %d ms, or one that runs on by %d', async (ms, more) => {
    const store = make()
    const clock = manualClock(START)
    const end = START + HOUR
    const first = { since: START - 1, finish: end, following: end + DAY }
    const next = { since: end, finish: end + ms, following: end + ms + DAY }
    await setUp([otherwise(berlin, () => first)], { store, clock }).limiter.check(ACME)
    clock.set(end)
    const { policies } = await setUp([otherwise(berlin, () => next)], {
      store,
      clock,
    }).limiter.check(ACME)
    expect(policies[0]).toMatchObject({ remaining: LIMIT - 1, resetMs: ms + more })
  })
})

async function expectDenied(limiter: Limiter, retryAfterMs: number): Promise<void> {
  expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs })
}
