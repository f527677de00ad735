/* Random limiters as plain data: policies of every algorithm, plans, settings. */
import {
  concurrency,
  dailyCap,
  definePlans,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type LimiterOptions,
  type Per,
  type Policy,
  type PolicyOptions,
  type Units,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import { fairShare } from '@sluice/core/fair-share'
import { waitingLine } from '@sluice/core/waiting'
import * as fc from 'fast-check'

const KINDS = [
  'sliding',
  'log',
  'counter',
  'token',
  'interval',
  'leaky',
  'waiting leaky',
  'fixed',
  'daily',
  'monthly',
  'calendar',
  'session',
  'slots',
  'share',
  'line',
  'own',
] as const
type Kind = (typeof KINDS)[number]

const UNITS = ['request', 'token', 'usd'] as const
export type Unit = (typeof UNITS)[number]

/** A policy as plain data. */
interface PolicyData {
  readonly kind: Kind
  readonly per: Per
  readonly unit: Unit
  readonly isShadow: boolean
  /** The only route that it is for. */
  readonly route: 'x' | undefined
  /** The limits for plans and for models: one of them is used, by `varies`. */
  readonly limits: readonly [Units, Units]
  readonly varies: 'never' | 'by plan' | 'by model'
}

/** A limiter as plain data. */
export interface LimiterData {
  readonly policies: readonly PolicyData[]
  readonly settings: 'none' | 'in one document' | 'in records'
}

/** Makes a policy of an algorithm that is not Sluice's. */
export type OwnPolicy = (options: PolicyOptions & { readonly window: '1m' }) => Policy

const units = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 6, arbitrary: fc.integer({ min: 4, max: 40 }) },
  { weight: 1, arbitrary: fc.constantFrom<Units>(0, 'unlimited') },
)

const policy: fc.Arbitrary<PolicyData> = fc.record({
  kind: fc.constantFrom(...KINDS),
  per: fc.constantFrom<Per>(
    ['tenant'],
    ['tenant', 'model'],
    ['tenant', 'model'],
    ['model'],
    'global',
  ),
  unit: fc.constantFrom(...UNITS),
  isShadow: fc.constantFrom(false, false, false, false, true),
  route: fc.constantFrom(undefined, undefined, undefined, 'x' as const),
  limits: fc.tuple(units, units),
  varies: fc.constantFrom('never', 'never', 'by plan', 'by model'),
})

/** A policy that counts every choice: one that none counts is refused. */
const counting = fc
  .record({ base: policy, limit: fc.integer({ min: 1, max: 40 }) })
  .map(({ base, limit }) =>
    Object.assign<PolicyData, Partial<PolicyData>>(base, {
      route: undefined,
      limits: [limit, limit + 3],
    }),
  )

/** One to eight policies, of which the first counts every choice. */
export const limiters: fc.Arbitrary<LimiterData> = fc.record({
  policies: fc
    .tuple(counting, fc.array(policy, { maxLength: 7, size: 'max' }))
    .map(([first, others]) => [first].concat(others)),
  settings: fc.constantFrom('none', 'none', 'in one document', 'in records'),
})

export const nameOf = (index: number): string => `p${index}`

/** The units that a limiter counts, of those that a cost names. */
export const unitsOf = ({ policies }: LimiterData): Unit[] =>
  UNITS.filter((unit) => policies.some(({ kind, unit: own }) => kind !== 'slots' && own === unit))

/** The policies whose limit may be configured: those of one name and one window. */
const configurable = ({ policies }: LimiterData): string[] =>
  policies.flatMap(({ kind }, index) =>
    kind === 'log' || kind === 'share' || kind === 'line' ? [] : [nameOf(index)],
  )

/** The options of a limiter but for its store and clock. */
export function optionsOf(
  data: LimiterData,
  own: OwnPolicy,
): Pick<LimiterOptions, 'plans' | 'policies' | 'extensions'> {
  const planOf = (at: 0 | 1) =>
    Object.fromEntries(data.policies.map(({ limits }, index) => [nameOf(index), limits[at]]))
  const names = configurable(data)
  return {
    plans: definePlans({ free: planOf(0), pro: planOf(1) }, { defaultPlan: 'free' }),
    policies: data.policies.map((one, index) => policyOf(one, nameOf(index), own)),
    extensions:
      data.settings === 'none' || names.length === 0
        ? []
        : [
            runtimeConfiguration({
              allow: Object.fromEntries(names.map((name) => [name, ['limit', 'mode'] as const])),
              ...(data.settings === 'in records' && { partitions: partitionRecords() }),
            }),
          ],
  }
}

/** The number of a model: `m7` is 7. */
const numberOf = (model: string | undefined): number => Number(model?.slice(1) ?? 0)

/** The zone of a model: each counts in days of its own. */
const zoneOf = (model: number): string => ['Asia/Kathmandu', 'America/New_York'][model % 2] ?? 'UTC'

function policyOf(data: PolicyData, name: string, own: OwnPolicy): Policy {
  const { kind, unit, isShadow, route, limits, varies } = data
  const limit =
    varies === 'never'
      ? limits[0]
      : varies === 'by plan'
        ? ({ plan }: { plan: Record<string, Units | undefined> }) => plan[name]
        : ({ model }: { model: string | undefined }) => limits[numberOf(model) % 2]
  const per: Per = kind === 'share' ? 'global' : data.per
  const mode = isShadow ? ('shadow' as const) : ('enforce' as const)
  const base = { name, per, mode, ...(route && { routes: [route] }) }
  const common = { ...base, limit, unit } as never as PolicyOptions & { readonly name: string }
  const window = '1m'
  const make: Record<Kind, () => Policy> = {
    sliding: () => slidingWindow({ ...common, window }),
    log() {
      const { limit: _, ...others } = common
      const [short] = limits
      const windows = { short: { limit: short, window: '20s' }, long: { limit: 40, window } }
      return slidingWindows({ ...others, windows } as never)
    },
    counter: () => slidingWindowCounter({ ...common, window, segments: 6 }),
    token: () => tokenBucket({ ...common, window }),
    interval: () => tokenBucket({ ...common, window, refill: 'interval' }),
    leaky: () => leakyBucket({ ...common, window, burst: 'limit' }),
    'waiting leaky': () => leakyBucket({ ...common, window, burst: 'limit', wait: '40s' }),
    fixed: () => fixedWindow({ ...common, window }),
    daily: () => dailyCap(common),
    monthly: () => monthlyCap(common),
    calendar: () =>
      dailyCap({ ...common, resets: calendar({ zone: ({ model }) => zoneOf(numberOf(model)) }) }),
    session: () => sessionWindow({ ...common, idle: '20s' }),
    slots: () => concurrency({ ...base, limit } as never),
    share: () => fairShare(slidingWindow({ ...common, window }), { between: ['tenant'] }),
    line: () => waitingLine(slidingWindow({ ...common, window })),
    own: () => own({ ...common, window }),
  }
  return make[kind]()
}
