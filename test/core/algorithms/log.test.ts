import { slidingWindows, type Entry, type PolicyRule } from '@sluice/core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { entriesOf, rulesOf, storeRequest } from '../../support/store-request.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'

const SEED = 20_260_118
/** The value at which the sums in a log wrap around. */
const TURN = 8_000_000_000_000_000
const LIMIT = 100_000_000_000_000

const RULES = rulesOf(
  slidingWindows({
    name: 'k',
    per: 'global',
    windows: { short: { limit: LIMIT, window: '1s' }, long: { limit: LIMIT, window: '3s' } },
  }),
)
const [{ algorithm }] = RULES as [PolicyRule]

interface Charge {
  readonly at: number
  readonly cost: number
}

const shared = sharedRedis()

const cost = fc.oneof(
  fc.integer({ min: 1, max: 9 }),
  fc.constantFrom(LIMIT, LIMIT - 1, LIMIT / 2, LIMIT / 4 - 1),
  fc.integer({ min: 1, max: LIMIT }),
)
const steps = fc.array(
  fc.record({ gap: fc.constantFrom(0, 0, 0, 1, 999, 1_000, 2_999, 3_000), cost }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** A log as it is after very many requests: in Redis, in memory, and as a list of what counts. */
async function longLog(sum: number, first: number) {
  const prefix = freshPrefix()
  const store = shared.store(prefix)
  await shared.redis.zadd(`${prefix}:k`, NOON, `${String(sum).padStart(16, '0')}:${first}`)
  await shared.redis.pexpire(`${prefix}:k`, 60_000)
  let state = [{ at: NOON, cost: first, sum }] as never
  const charges: Charge[] = [{ at: NOON, cost: first }]

  async function ask(now: number, asked: number): Promise<void> {
    const list = entriesOf(RULES, { limit: LIMIT, cost: asked })
    const twin = list.map((entry) => algorithm.check(state, entry, now))
    const request = storeRequest(RULES, list, { now, clockIsInjected: true })
    const { verdicts } = await store.check(request)
    const charged = twin.every(({ fits }) => fits)
    expect(verdicts).toEqual(twin.map((finding) => ({ waitMs: 0, ...finding, charged })))
    const free = RULES.map(({ windowMs }) =>
      charges
        .filter(({ at }) => at > now - windowMs)
        .reduce((left, charge) => left - charge.cost, LIMIT),
    )
    expect(twin.map(({ available }) => available)).toEqual(free)
    expect(twin.map(({ fits }) => fits)).toEqual(free.map((left) => asked <= left))
    if (!charged) return
    state = algorithm.add(state, list[0] as Entry, now, 'x').state
    charges.push({ at: now, cost: asked })
  }

  /** The sums in the log, in memory and in Redis. */
  async function sums(): Promise<number[]> {
    const members = await shared.redis.zrange(`${prefix}:k`, 0, -1)
    const log = state as { sum: number }[]
    return [
      ...log.map((entry) => entry.sum),
      ...members.map((member) => Number(member.slice(0, 16))),
    ]
  }
  return { ask, sums }
}

describe('a log of very many requests', () => {
  it('loses no unit when its sums wrap around, even within a millisecond', async () => {
    expect.hasAssertions()
    const sums = fc.oneof(
      fc.constantFrom(TURN - 1, TURN - 7, TURN - LIMIT, TURN + 5, TURN + LIMIT - 1),
      fc.integer({ min: TURN - 3 * LIMIT, max: TURN + LIMIT }),
    )
    const property = fc.asyncProperty(sums, cost, steps, async (sum, first, list) => {
      const { ask, sums: sumsIn } = await longLog(sum, first)
      let now = NOON
      for (const step of list) {
        now += step.gap
        await ask(now, step.cost)
      }
      // A charge of the same millisecond goes on with the sums of the first.
      expect(Math.max(...(await sumsIn()))).toBeLessThan(TURN + 2 * LIMIT)
    })
    await fc.assert(property, { seed: SEED, numRuns: 150 })
  })
})
