import {
  concurrency,
  createLimiter,
  dailyCap,
  definitionOf,
  manualClock,
  slidingWindow,
  tokenBucket,
} from '@sluice/core'
import { runtimeConfiguration, type DesiredEntry, type Settings } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { judgeDenials, policySet } from '@sluice/replay'
import { flushDenials, listDenials, recordDenials } from '@sluice/usage/denials'
import { describe, expect, it } from 'vitest'
import { BALANCES, KIND_NAMES, KINDS } from '../../support/kinds.ts'
import { NOON } from '../../support/times.ts'

const PER = ['tenant'] as const

/** A limiter that records its denials. */
function setUp(policies: Parameters<typeof createLimiter>[0]['policies']) {
  const clock = manualClock(NOON)
  const names = definitionOf(createLimiter({ store: memory(), policies }))
    .rules.filter(({ follows }) => !follows)
    .map(({ name }) => name)
  const allow = Object.fromEntries(
    names.map((name) => [name, ['limit', 'mode', 'enabled'] as const]),
  )
  const limiter = createLimiter({
    store: memory(),
    policies,
    clock,
    extensions: [recordDenials({ flushEvery: '1h' }), runtimeConfiguration({ allow })],
  })
  const judge = async (configuration: readonly DesiredEntry[]) => {
    await flushDenials(limiter)
    const denials = await listDenials(limiter, 'a')
    const judged = await judgeDenials('a', denials, policySet('new', { limiter, configuration }))
    return judged.map(({ denial, outcome, by }) => [
      (denial.at - NOON) / 1_000,
      outcome === 'unknown' ? `${by}?` : by,
    ])
  }
  return { clock, limiter, judge, names }
}

// A log tells no grants, so a replay leaves balances out.
const COUNTED = KIND_NAMES.filter((kind) => !BALANCES.includes(kind))

describe('recorded denials, decided by other limits', () => {
  it.each(COUNTED)('are denied by the same limits, and allowed by none: %s', async (kind) => {
    const { clock, limiter, judge, names } = setUp([KINDS[kind]('p', 3)])
    const denied: number[] = []
    for (let second = 0; second < 20; second += 1) {
      clock.set(NOON + second * 1_000)
      if (!(await limiter.check({ tenant: 'a' })).allowed) denied.push(second)
    }
    expect(denied.length).toBeGreaterThan(3)
    expect(await judge([])).toEqual(denied.map((second) => [second, expect.stringMatching(/^p/)]))
    if (kind === 'calls in flight') return
    const without = [{ limit: 'unlimited' }, { limit: 1_000 }, { mode: 'shadow' }, { enabled: 0 }]
    for (const settings of without as Settings[]) {
      const judged = await judge(names.map((policy) => ({ policy, settings })))
      expect({ settings, judged }).toEqual({
        settings,
        judged: denied.map((second) => [second, undefined]),
      })
    }
  })

  it('fit one after another, for as long as the window lasts', async () => {
    const { clock, limiter, judge } = setUp([
      slidingWindow({ name: 'p', limit: 2, window: '10s', per: PER }),
    ])
    for (const second of [0, 0, 1, 2, 3, 9, 12, 12, 12]) {
      clock.set(NOON + second * 1_000)
      await limiter.check({ tenant: 'a' })
    }
    // Two a window are allowed: at 0, and at 12.
    const raised = (limit: number) => judge([{ policy: 'p', settings: { limit } }])
    expect(await raised(3)).toEqual([
      [1, undefined],
      [2, 'p'],
      [3, 'p'],
      [9, 'p'],
      [12, undefined],
    ])
    // The calls let in at 9 and 12 are still in the window then.
    expect(await raised(5)).toEqual([
      [1, undefined],
      [2, undefined],
      [3, undefined],
      [9, 'p'],
      [12, undefined],
    ])
  })

  it('are denied by the next limit, in its own partition', async () => {
    const { limiter, judge } = setUp([
      slidingWindow({ name: 'p', limit: 1, window: '1m', per: ['tenant', 'route'] }),
      dailyCap({ name: 'daily', limit: 4, per: PER }),
    ])
    for (const route of ['x', 'y', 'x', 'y', 'x']) await limiter.check({ tenant: 'a', route })
    const policies = (await judge([{ policy: 'p', settings: { limit: 2 } }])).map(([, by]) => by)
    expect(policies).toEqual([undefined, undefined, 'p'])
    const all = (await judge([{ policy: 'p', settings: { limit: 9 } }])).map(([, by]) => by)
    expect(all).toEqual([undefined, undefined, 'daily'])
  })

  it('are not decided by a policy that took no part, or that fills at another rate', async () => {
    const rpm = slidingWindow({ name: 'q', limit: 1, window: '1m', per: PER })
    const absent = slidingWindow({ name: 'p', limit: 'unlimited', window: '1m', per: PER })
    const added = setUp([rpm, absent])
    for (let count = 0; count < 3; count += 1) await added.limiter.check({ tenant: 'a' })
    const limited = [{ policy: 'p', settings: { limit: 1 } }]
    // Its own policy denies it in any case.
    expect(await added.judge(limited)).toEqual([
      [0, 'q'],
      [0, 'q'],
    ])
    const bucket = setUp([
      tokenBucket({ name: 'p', limit: 5, burst: 3, window: '1h', per: PER }),
      slidingWindow({ name: 'q', limit: 'unlimited', window: '1m', per: PER }),
    ])
    for (let count = 0; count < 5; count += 1) await bucket.limiter.check({ tenant: 'a' })
    await bucket.limiter.check({ tenant: 'a' }, { cost: { request: 9 } })
    const faster = [{ policy: 'p', settings: { limit: 7_200 } }]
    expect(await bucket.judge(faster)).toEqual([
      [0, 'p?'],
      [0, 'p?'],
      [0, 'p'],
    ])
    const slower = [{ policy: 'p', settings: { limit: 1 } }]
    expect(await bucket.judge(slower)).toEqual([
      [0, 'p'],
      [0, 'p'],
      [0, 'p'],
    ])
    const unlimited = [{ policy: 'p', settings: { limit: 'unlimited' } }] as const
    expect(await bucket.judge([...unlimited, { policy: 'q', settings: { limit: 9 } }])).toEqual([
      [0, 'q?'],
      [0, 'q?'],
      [0, 'q?'],
    ])
  })

  it('stay denied if their policy cannot be replayed', async () => {
    const { limiter, judge } = setUp([
      slidingWindow({ name: 'p', limit: 9, window: '1m', per: PER }),
      concurrency({ name: 'calls', limit: 1, per: PER }),
    ])
    await limiter.check({ tenant: 'a' })
    await limiter.check({ tenant: 'a' })
    expect(await judge([])).toEqual([[0, 'calls']])
  })
})
