/* Random calls with choices. */
import * as fc from 'fast-check'
import type { Cost } from '@sluice/core'
import { fitRange } from '@sluice/core/reservations'
import type { Unit } from './limiters.ts'

/** A choice as plain data. */
interface ChoiceData {
  readonly model: number
  readonly route: 'x' | 'y'
  readonly cost: Readonly<Record<Unit, number>>
  /** The range of a fit, of which each costs a unit of `token` and two of `usd`. */
  readonly floor: number
  readonly more: number
}

/** A change of a limit, for everyone or for one partition. */
export interface ChangeData {
  readonly policy: number
  readonly limit: number | 'unlimited' | null
  readonly model: number
  readonly isForAll: boolean
  /** True if another process makes it. */
  readonly isElsewhere: boolean
}

/** A call as plain data, `waitMs` after the one before. */
export interface CallData {
  readonly waitMs: number
  readonly kind: 'check' | 'peek' | 'reserve'
  readonly tenant: 'a' | 'b'
  readonly route: 'x' | 'y'
  readonly plan: 'free' | 'pro' | undefined
  readonly choices: readonly ChoiceData[]
  /** True if each choice names its route. */
  readonly choosesRoutes: boolean
  /** True if the choices of a reservation have ranges. */
  readonly fits: boolean
  readonly releases: boolean
  readonly maxShare: 1 | 0.5
  /** The share that is used of a reservation; `null` if it is not settled. */
  readonly used: 0 | 0.5 | 1 | 1.2 | null
  readonly change: ChangeData | null
}

/** One choice as the limiter gets it. */
export interface OneChoice {
  readonly subject: Readonly<Record<string, string>>
  readonly cost: Cost
  readonly fit?: ReturnType<typeof fitRange>
}

const amount = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 20 }) },
)

const choice = (models: number): fc.Arbitrary<ChoiceData> =>
  fc.record({
    model: fc.nat(models - 1),
    route: fc.constantFrom('x', 'y'),
    cost: fc.record({ request: fc.constantFrom(1, 1, 1, 0, 2), token: amount, usd: amount }),
    floor: fc.integer({ min: 1, max: 4 }),
    more: fc.nat(12),
  })

const lists = fc.oneof(
  { weight: 6, arbitrary: fc.array(choice(4), { minLength: 1, maxLength: 5, size: 'max' }) },
  { weight: 2, arbitrary: fc.array(choice(8), { minLength: 6, maxLength: 20, size: 'max' }) },
  { weight: 1, arbitrary: fc.array(choice(64), { minLength: 21, maxLength: 64, size: 'max' }) },
)

const change: fc.Arbitrary<ChangeData> = fc.record({
  policy: fc.nat(7),
  limit: fc.constantFrom(0, 1, 5, 20, 50, 'unlimited' as const, null),
  model: fc.nat(3),
  isForAll: fc.boolean(),
  isElsewhere: fc.boolean(),
})

const call: fc.Arbitrary<CallData> = fc.record({
  waitMs: fc.constantFrom(0, 0, 0, 1, 700, 2_500, 9_000, 31_000, 61_000),
  kind: fc.constantFrom('check', 'check', 'check', 'reserve', 'reserve', 'peek'),
  tenant: fc.constantFrom('a', 'a', 'b'),
  route: fc.constantFrom('x', 'y'),
  plan: fc.constantFrom('free', 'free', 'pro', undefined),
  choices: lists,
  choosesRoutes: fc.constantFrom(false, false, true),
  fits: fc.boolean(),
  releases: fc.constantFrom(false, false, true),
  maxShare: fc.constantFrom(1, 1, 0.5),
  used: fc.constantFrom(null, null, 0, 0.5, 1, 1.2),
  change: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: change }),
})

export const calls = (length: number): fc.Arbitrary<readonly CallData[]> =>
  fc.array(call, { minLength: length, maxLength: length })

/** The subject that the choices of a call are laid over. */
export const subjectOf = ({ tenant, route, plan }: CallData): Record<string, string> => ({
  tenant,
  route,
  ...(plan && { plan }),
})

/** The choices of a call, with costs in the units that the limiter counts. */
export const choicesOf = (
  { kind, choices, choosesRoutes, fits }: CallData,
  counted: readonly Unit[],
): OneChoice[] =>
  choices.map(({ model, route, cost, floor, more }) => {
    const rates = { token: 1_000_000, usd: 2_000_000 }
    const ranged = counted.filter((unit) => unit !== 'request')
    return {
      subject: { model: `m${model}`, ...(choosesRoutes && { route }) },
      cost: Object.fromEntries([...counted].map((unit) => [unit, cost[unit]])),
      ...(kind === 'reserve' &&
        fits &&
        ranged.length > 0 && {
          fit: fitRange({
            floor,
            most: floor + more,
            rates: Object.fromEntries(ranged.map((unit) => [unit, rates[unit as 'token']])),
          }),
        }),
    }
  })
