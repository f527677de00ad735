import {
  concurrency,
  slidingWindow,
  type CapOptions,
  type Limit,
  type Per,
  type Policy,
  type PolicyOf,
} from '@sluice/core'
import { assertKnownOptions, invalidOption } from '@sluice/core/internal'
import { budget, resetsOfDays, type AnyLimitName } from './budget.ts'
import { withOwnOptions } from '../own-options.ts'

/** Options of `modelPolicies`. An amount that is left out is not limited. */
export interface ModelPoliciesOptions<Partition extends Per = Per> {
  /** The owner of a budget: each combination of these dimensions, or `'global'`. */
  readonly per: Partition
  /** Requests per minute. */
  readonly rpm?: Limit
  /** Tokens per minute, input and output together. */
  readonly tpm?: Limit
  /** The most to spend each calendar day, in micro-dollars: `usd(5)`. */
  readonly daily?: Limit
  /** The most to spend each calendar month, in micro-dollars. */
  readonly monthly?: Limit
  /** The customer's calendar, whose days and months `daily` and `monthly` count, created by `calendar`. @default UTC */
  readonly resets?: CapOptions['resets']
  /** Calls at the same time. */
  readonly inFlight?: Limit
}

/**
 * The usual policies of model calls, decided as one: requests and tokens per minute, dollars per day and
 * month, calls in flight.
 *
 * @throws ConfigError When an option is unknown or out of range, or nothing is limited.
 * @example
 * modelPolicies({ per: ['tenant'], rpm: 60, tpm: 100_000, daily: usd(5), inFlight: 10 })
 */
export function modelPolicies<const Partition extends Per>(
  options: ModelPoliciesOptions<Partition>,
): PolicyOf<Partition, 'request' | 'token' | 'usd' | 'call', AnyLimitName>[] {
  const known = ['per', 'rpm', 'tpm', 'daily', 'monthly', 'resets', 'inFlight']
  assertKnownOptions('modelPolicies', options, known)
  const { per, rpm, tpm, daily, monthly, resets, inFlight } = options
  const policies: Policy[] = []
  const add = (option: string, limit: Limit | undefined, make: (limit: Limit) => Policy): void => {
    if (limit === undefined) return
    policies.push(withOwnOptions('modelPolicies', option, () => make(limit)))
  }
  const window = '1m'
  const ofDays = resetsOfDays(resets, monthly)
  add('daily', daily, (limit) => budget({ per, daily: limit, resets: ofDays }))
  add('monthly', monthly, (limit) => budget({ per, monthly: limit, resets }))
  add('rpm', rpm, (limit) => slidingWindow({ name: 'rpm', limit, window, per }))
  add('tpm', tpm, (limit) => slidingWindow({ name: 'tpm', unit: 'token', limit, window, per }))
  add('inFlight', inFlight, (limit) => concurrency({ name: 'in-flight', limit, per }))
  if (policies.length > 0) return policies as Policy<never, never>[]
  throw invalidOption('modelPolicies', 'must limit something, such as rpm or daily')
}
