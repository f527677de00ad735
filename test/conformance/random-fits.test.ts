import { createLimiter, manualClock, type Cost, type Limiter, type Subject } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { fitRange, peekFit, reserve } from '@sluice/core/reservations'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { objectsInProcess, storeIn } from '../support/objects.ts'
import { ownRedis } from '../support/running-redis.ts'
import { inClusterOrDatabases } from '../support/stores.ts'
import { policiesOf, rules, type Rule } from './model/rules.ts'

const SEED = 20_261_122
const LIMITERS = 1_000
/** In Redis keys expire by the real clock: windows long enough for a history to end well before. */
const REDIS_LEAST_MS = 10_000
const NOON = Date.UTC(2026, 0, 15, 12)

const own = ownRedis()

/** A call with a range: what it costs beside it, the range, and the cost of a million of it. */
const call = fc.record({
  tenant: fc.constantFrom('a', 'a', 'b'),
  route: fc.constantFrom('x', 'x', 'y'),
  waitMs: fc.constantFrom(0, 0, 1, 500, 5_000, 70_000),
  fixed: fc.record({ token: fc.nat(3), usd: fc.nat(3) }),
  floor: fc.integer({ min: 1, max: 6 }),
  more: fc.nat(30),
  rates: fc.record({
    token: fc.constantFrom(0, 1_000_000),
    usd: fc.constantFrom(0, 1, 333_333, 1_000_000, 2_500_000),
  }),
  /** The share of what is granted that is used, or none if it is not settled. */
  used: fc.option(fc.constantFrom(0, 0.5, 1, 1.2)),
})
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

const unitsIn = (list: readonly Rule[]): Set<string> => new Set(list.map(({ unit }) => unit))

/** The cost of `quantity`, as one would explain it, in the units that the limiter counts. */
function costOf({ fixed, rates }: Call, quantity: number, units: Set<string>): Cost {
  const cost: Record<string, number> = {}
  for (const unit of ['token', 'usd'] as const) {
    const variable = Number((BigInt(quantity) * BigInt(rates[unit]) + 999_999n) / 1_000_000n)
    if (units.has(unit)) cost[unit] = fixed[unit] + variable
  }
  return cost
}

/** The largest quantity that a peek at its cost allows, found by trying each; `undefined` if not the floor. */
async function largest(
  limiter: Limiter,
  subject: Subject,
  one: Call,
  units: Set<string>,
): Promise<number | undefined> {
  for (let quantity = one.floor + one.more; quantity >= one.floor; quantity -= 1) {
    const { allowed } = await limiter.peek(subject, { cost: costOf(one, quantity, units) })
    if (allowed) return quantity
  }
  return undefined
}

const inPlaces = inClusterOrDatabases()

it(`${LIMITERS} random limiters grant alike in memory, in Redis, in objects and in a cluster or databases: the largest quantity that a peek allows`, async () => {
  let partial = 0
  await fc.assert(
    fc.asyncProperty(
      rules(REDIS_LEAST_MS),
      fc.array(call, { minLength: 1, maxLength: 5, size: 'max' }),
      async (list, calls) => {
        const clock = manualClock(NOON)
        const policies = policiesOf(list)
        const units = unitsIn(list)
        const stores = [memory(), own.store(), storeIn(objectsInProcess().namespace), inPlaces()]
        const limiters = stores.map((store) => createLimiter({ store, policies, clock }))
        for (const one of calls) {
          clock.advance(one.waitMs)
          const subject = { tenant: one.tenant, route: one.route }
          const rates = Object.entries(one.rates).filter(([unit]) => units.has(unit))
          const fit = fitRange({
            floor: one.floor,
            most: one.floor + one.more,
            rates: rates.length > 0 ? Object.fromEntries(rates) : { token: 0 },
          })
          if (rates.length === 0) continue
          const fixed = Object.entries(one.fixed).filter(([unit]) => units.has(unit))
          const options = { cost: Object.fromEntries(fixed), fit }
          const expected = await largest(limiters[0] as Limiter, subject, one, units)
          const [peeked, ...reserved] = [
            await peekFit(limiters[1] as Limiter, subject, options),
            ...(await Promise.all(limiters.map((limiter) => reserve(limiter, subject, options)))),
          ]
          const granted = reserved.map((decision) =>
            decision.allowed ? decision.granted : undefined,
          )
          expect(granted).toEqual(stores.map(() => expected))
          expect(peeked.granted).toBe(expected)
          const states = reserved.map((decision) => JSON.stringify(decision.policies))
          expect(states).toEqual(states.map(() => states[0]))
          if (expected !== undefined && expected < one.floor + one.more) partial += 1
          if (one.used === null) continue
          const used = one.used
          const settled = await Promise.all(
            reserved.map(async (decision, index) => {
              if (!decision.allowed) return undefined
              const quantity = Math.round((granted[index] ?? 0) * used)
              return decision.settle(costOf(one, quantity, units))
            }),
          )
          expect(settled).toEqual(settled.map(() => settled[0]))
        }
      },
    ),
    { seed: SEED, numRuns: LIMITERS },
  )
  // Not only all or nothing.
  expect(partial).toBeGreaterThan(LIMITERS / 10)
}, 400_000)
