import { createLimiter, manualClock, type Cost, type Limiter, type Subject } from '@sluice/core'
import { calendarAlgorithm } from '@sluice/core/calendars'
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
  /** The quantity above the floor from which on only a quarter of what is left may be granted, if there is one. */
  usual: fc.option(fc.nat(6)),
  rates: fc.record({
    token: fc.constantFrom(0, 1_000_000),
    usd: fc.constantFrom(0, 1, 333_333, 1_000_000, 2_500_000),
  }),
  /** The share of what is granted that is used, or none if it is not settled. */
  used: fc.option(fc.constantFrom(0, 0.5, 1, 1.2)),
})
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

const unitsIn = (list: readonly Rule[]): Set<string> => new Set(list.map(({ unit }) => unit))

const UNITS = ['token', 'usd'] as const
type Unit = (typeof UNITS)[number]

/** The units that `quantity` costs, as one would explain it. */
const variableOf = ({ rates }: Call, quantity: number, unit: Unit): number =>
  Number((BigInt(quantity) * BigInt(rates[unit]) + 999_999n) / 1_000_000n)

/** The cost of `quantity` in the units that the limiter counts. */
function costOf(one: Call, quantity: number, units: Set<string>): Cost {
  const counted = UNITS.filter((unit) => units.has(unit))
  return Object.fromEntries(
    counted.map((unit) => [unit, one.fixed[unit] + variableOf(one, quantity, unit)]),
  )
}

const usualOf = ({ floor, more, usual }: Call): number => floor + Math.min(more, usual ?? more)

/**
 * The largest quantity that a peek at its cost allows, found by trying each; `undefined` if not the floor. Above the
 * usual one, four of it must fit into what is left beside the fixed cost.
 */
async function largest(
  limiter: Limiter,
  subject: Subject,
  one: Call,
  units: Set<string>,
): Promise<number | undefined> {
  const nothing = Object.fromEntries([...units].map((unit) => [unit, 0]))
  const { policies } = await limiter.peek(subject, { cost: nothing })
  const leavesRoom = (quantity: number): boolean =>
    policies.every(({ enforced, unit, remaining }) => {
      const named = UNITS.find((each) => each === unit)
      if (!enforced || named === undefined || one.rates[named] === 0) return true
      return 4 * variableOf(one, quantity, named) <= remaining - one.fixed[named]
    })
  for (let quantity = one.floor + one.more; quantity >= one.floor; quantity -= 1) {
    if (quantity > usualOf(one) && !leavesRoom(quantity)) continue
    const { allowed } = await limiter.peek(subject, { cost: costOf(one, quantity, units) })
    if (allowed) return quantity
  }
  return undefined
}

const inPlaces = inClusterOrDatabases()

it(`${LIMITERS} random limiters grant alike in memory, in Redis, in objects and in a cluster or databases: the largest quantity that a peek allows and that leaves room for others`, async () => {
  let [partial, atUsual, aboveUsual] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(
      rules(REDIS_LEAST_MS),
      fc.array(call, { minLength: 1, maxLength: 5, size: 'max' }),
      async (list, calls) => {
        const clock = manualClock(NOON)
        const policies = policiesOf(list)
        const units = unitsIn(list)
        const stores = [
          memory(),
          own.store(),
          storeIn(objectsInProcess({ algorithms: [calendarAlgorithm] }).namespace),
          inPlaces(),
        ]
        const limiters = stores.map((store) => createLimiter({ store, policies, clock }))
        for (const one of calls) {
          clock.advance(one.waitMs)
          const subject = { tenant: one.tenant, route: one.route }
          const rates = Object.entries(one.rates).filter(([unit]) => units.has(unit))
          const fit = fitRange({
            floor: one.floor,
            most: one.floor + one.more,
            usual: one.usual === null ? undefined : usualOf(one),
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
          if (expected !== undefined && expected > usualOf(one)) aboveUsual += 1
          if (expected === usualOf(one) && one.usual !== null && one.usual < one.more) atUsual += 1
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
  expect(Math.min(atUsual, aboveUsual)).toBeGreaterThan(LIMITERS / 10)
}, 400_000)
