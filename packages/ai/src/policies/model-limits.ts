import {
  concurrency,
  dailyCap,
  slidingWindow,
  type Limit,
  type Policy,
  type PolicyOptions,
} from '@sluice/core'
import {
  assertKnownOptions,
  assertLimit,
  assertOptions,
  invalidOption,
} from '@sluice/core/internal'
import { spellingsOf } from '../model-name.ts'
import { withOwnOptions } from '../own-options.ts'

/** One line of a provider's table of limits; what is left out has none. */
export interface ModelLimits {
  /** Requests per minute. */
  readonly rpm?: number
  /** Requests per day (UTC). */
  readonly rpd?: number
  /** Tokens per minute, input and output together: the unit `token`. */
  readonly tpm?: number
  /** Tokens per day (UTC): the unit `token`. */
  readonly tpd?: number
  /** Input tokens per minute: the unit `input_token`. */
  readonly itpm?: number
  /** Output tokens per minute: the unit `output_token`. */
  readonly otpm?: number
  /** Calls in flight at once. */
  readonly inFlight?: number
}

/** Options of `modelLimits`. */
export interface ModelLimitsOptions extends Pick<
  PolicyOptions,
  'per' | 'scope' | 'mode' | 'rollout'
> {
  /** Limits by the name of the model, as you count it (`subject.model`). */
  readonly models: Readonly<Record<string, ModelLimits>>
  /** The limits of all models that are not listed, which share one budget. */
  readonly otherModels: ModelLimits
}

/** The result of `modelLimits`. */
export interface ModelLimitPolicies {
  readonly policies: Policy[]
  /**
   * Returns the listed name that matches, exactly or without a vendor's prefix and a date at the end;
   * otherwise `'other'`, also for a missing name. So invented names share one budget.
   */
  readonly modelOf: (name: string | undefined) => string
}

/** Makes the policy that counts one limit of a line. */
type Column = (common: PolicyOptions) => Policy

const perMinute =
  (unit: string): Column =>
  (common) =>
    slidingWindow({ ...common, unit, window: '1m' })
const perDay =
  (unit: string): Column =>
  (common) =>
    dailyCap({ ...common, unit })

const COLUMNS: ReadonlyMap<keyof ModelLimits, Column> = new Map([
  ['rpd', perDay('request')],
  ['tpd', perDay('token')],
  ['rpm', perMinute('request')],
  ['tpm', perMinute('token')],
  ['itpm', perMinute('input_token')],
  ['otpm', perMinute('output_token')],
  ['inFlight', (common) => concurrency(common)],
])

/** The name that models that are not listed are counted under. */
const OTHER = 'other'

/**
 * Policies that read like a provider's table of limits: one for each column, which allows each model
 * what its line says. Put `'model'` among `per`, and `modelOf(name)` in the subject.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * const { policies, modelOf } = modelLimits({
 *   per: ['user', 'model'],
 *   models: {
 *     'gpt-4o': { rpm: 500, rpd: 10_000, tpm: 30_000 },
 *     'claude-sonnet-4': { rpm: 50, itpm: 30_000, otpm: 8_000 },
 *   },
 *   otherModels: { rpm: 20, tpm: 10_000 },
 * })
 */
export function modelLimits(options: ModelLimitsOptions): ModelLimitPolicies {
  const own = ['models', 'otherModels', 'per', 'scope', 'mode', 'rollout']
  assertKnownOptions('modelLimits', options, own)
  const { models, otherModels, ...common } = options
  assertOptions('modelLimits.models', models)
  if (Object.hasOwn(models, OTHER)) {
    throw invalidOption(`modelLimits.models.${OTHER}`, 'is reserved; set "otherModels" instead')
  }
  const lines = new Map([...Object.entries(models), [OTHER, otherModels] as const])
  for (const [name, line] of lines) {
    const place = name === OTHER ? 'modelLimits.otherModels' : `modelLimits.models.${name}`
    assertKnownOptions(place, line, [...COLUMNS.keys()])
    for (const [column, limit] of Object.entries(line)) assertLimit(`${place}.${column}`, limit)
  }
  if (!Array.isArray(options.per) || !options.per.includes('model')) {
    throw invalidOption('modelLimits.per', 'must list "model"')
  }
  const policies: Policy[] = []
  for (const [column, make] of COLUMNS) {
    if (![...lines.values()].some((line) => line[column] !== undefined)) continue
    const limit: Limit = ({ model = OTHER }) =>
      (lines.get(model) ?? otherModels)[column] ?? 'unlimited'
    const policy = () => make({ ...common, name: column, limit })
    policies.push(withOwnOptions('modelLimits', column, policy))
  }
  if (policies.length === 0) {
    throw invalidOption('modelLimits.models', 'must limit something')
  }
  const modelOf = (name: string | undefined): string =>
    typeof name !== 'string'
      ? OTHER
      : ([name, ...spellingsOf(name)].find((one) => lines.has(one)) ?? OTHER)
  return { policies, modelOf }
}
