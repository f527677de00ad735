import { slidingWindows, type Limit, type Policy } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { KIND_NAMES, KINDS } from '../../support/kinds.ts'
import { decidesLikeMemory, USED, type Step } from '../../support/twins.ts'

const shared = sharedRedis()

/** A limit that is none on some routes. */
const except =
  (routes: readonly string[], limit: number): Limit =>
  ({ route = '' }) =>
    routes.includes(route) ? 'unlimited' : limit

describe.each(KIND_NAMES)('on Redis, a %s decides and settles as in memory', (kind) => {
  const make = KINDS[kind]
  const among = (position: number): Policy[] => {
    const policies: Policy[] = [KINDS['daily cap']('daily', 30), KINDS['sliding window']('rpm', 12)]
    return policies.toSpliced(position, 0, make('p', 8))
  }

  it('with no other policy', async () => {
    const answers = await decidesLikeMemory([make('p', 4)], shared.store())
    // The history is one of denials, too.
    expect(JSON.stringify(answers)).toContain('"allowed":false')
  })

  it.each([0, 1, 2])('with %i policies before it', async (position) => {
    expect.hasAssertions()
    await decidesLikeMemory(among(position), shared.store())
  })

  it('when its charge has expired, or is about to', async () => {
    expect.hasAssertions()
    const waits = [0, 9_999, 10_000, 30_000, 59_999, 60_000, 61_000, 119_000, 125_000, 900_000]
    const steps = waits.flatMap((settleAfterMs) =>
      USED.flatMap((): Step[] => [
        { act: 'reserve', afterMs: 3_000, cost: 2, settleAfterMs },
        { act: 'check', afterMs: 700, cost: 1 },
        { act: 'peek', afterMs: 61_000, cost: 1 },
      ]),
    )
    await decidesLikeMemory([make('p', 200)], shared.store(), steps)
  })

  it('twice, with two limits', async () => {
    expect.hasAssertions()
    await decidesLikeMemory([make('p', 9), make('q', 5)], shared.store())
  })
})

describe('on Redis, windows of one key decide as in memory', () => {
  const window = { window: '1m', limit: 9 } as const
  const daily = KINDS['daily cap']('daily', 30)

  it.each([
    ['first', ['other'], []],
    ['second', [], ['other']],
    ['both', ['chat', 'other'], ['chat', 'other']],
  ])('if a route leaves out the %s', async (_which, withoutFirst, withoutSecond) => {
    expect.hasAssertions()
    const windows = {
      first: { window: '1m', limit: except(withoutFirst, 7) },
      second: { window: '10s', limit: except(withoutSecond, 3) },
      third: window,
    } as const
    const policies = [slidingWindows({ name: 'log', windows, per: ['tenant'] }), daily]
    await decidesLikeMemory(policies, shared.store())
  })

  it('if they are for some routes only', async () => {
    expect.hasAssertions()
    const windows = { first: { window: '10s', limit: 3 }, second: window } as const
    const log = { windows, per: ['tenant'] } as const
    const policies = [
      slidingWindows({ name: 'chat', routes: ['chat'], ...log }),
      daily,
      slidingWindows({ name: 'other', routes: ['other'], ...log }),
    ]
    await decidesLikeMemory(policies, shared.store())
  })
})

describe('a script of 64 policies of all kinds', () => {
  it('decides and settles as in memory', async () => {
    const policies: Policy[] = []
    // Windows of one key are two policies.
    for (let rules = 0; rules < 64;) {
      const kind = KIND_NAMES[policies.length % KIND_NAMES.length] ?? 'daily cap'
      const policy = KINDS[kind](`p${rules}`, 6 + (policies.length % 5))
      policies.push(policy)
      rules += policy().length
    }
    expect(policies.flatMap((policy) => policy()).length).toBeGreaterThanOrEqual(64)
    const answers = await decidesLikeMemory(policies, shared.store())
    expect(JSON.stringify(answers)).toContain('"allowed":false')
    expect(JSON.stringify(answers)).toContain('"applied":true')
  })
})
