import type { Limit, LimitContext, Units } from '../policies/limit.ts'
import type { ManifestPolicy, OptionsOf, PlanLimit } from './types.ts'
import { ConfigError } from '../errors.ts'
import { backpressure } from '../policies/backpressure.ts'
import { concurrency } from '../policies/concurrency.ts'
import { dailyCap, fixedWindow, monthlyCap } from '../policies/fixed-window.ts'
import { leakyBucket } from '../policies/leaky-bucket.ts'
import { rollout } from '../policies/rollout.ts'
import { slidingWindowCounter } from '../policies/sliding-window-counter.ts'
import { slidingWindow } from '../policies/sliding-window.ts'
import { slidingWindows } from '../policies/sliding-windows.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import { collectRules } from '../policies/rules.ts'
import { assertKnownOptions, assertOneOf, assertOptions } from '../internal/validation.ts'
import { inPlaceOf } from './place.ts'

type Factories = {
  readonly [Name in keyof OptionsOf]: (options: OptionsOf[Name]) => Policy
}

const FACTORIES: Factories = {
  slidingWindow,
  slidingWindows,
  slidingWindowCounter,
  fixedWindow,
  tokenBucket,
  leakyBucket,
  dailyCap,
  monthlyCap,
  concurrency,
}

const ALGORITHMS = Object.keys(FACTORIES) as (keyof OptionsOf)[]

/** The rules of a policy of a manifest. */
export function rulesOfSpec(place: string, policy: ManifestPolicy): readonly PolicyRule[] {
  if (typeof policy === 'function')
    return inPlaceOf('policies', place, () => collectRules([policy]))
  assertOptions(place, policy)
  const { algorithm, ...options } = policy
  const name = assertOneOf(`${place}.algorithm`, algorithm, ALGORITHMS)
  const make = FACTORIES[name] as (given: object) => Policy
  const given = withParts(place, withFunctions(place, options))
  return inPlaceOf(name, place, () => make(given)())
}

const PARTS = { backpressure, rollout }

/** Options in which plain data is made what a factory takes, such as `backpressure`. */
function withParts(place: string, options: object): object {
  const made = Object.entries(options).map(([name, value]: [string, unknown]) => {
    const make = Object.hasOwn(PARTS, name) ? PARTS[name as keyof typeof PARTS] : undefined
    // One that was made by its factory holds functions.
    const isMade = isObject(value) && Object.values(value).some((one) => typeof one === 'function')
    if (make === undefined || value === undefined || isMade) return [name, value] as const
    return [name, inPlaceOf(name, `${place}.${name}`, () => make(value as object))] as const
  })
  return Object.fromEntries(made)
}

/** Options in which each limit of a plan, by its name, is a function. */
function withFunctions(place: string, options: object): object {
  const given = new Map<string, unknown>(Object.entries(options))
  for (const option of ['limit', 'burst']) {
    if (given.has(option)) given.set(option, limitOf(`${place}.${option}`, given.get(option)))
  }
  const windows = given.get('windows')
  if (isObject(windows)) {
    const entries = Object.entries(windows).map(([name, window]) => {
      const own = `${place}.windows.${name}`
      return [name, isObject(window) ? withFunctions(own, window) : window] as const
    })
    given.set('windows', Object.fromEntries(entries))
  }
  return Object.fromEntries(given)
}

/** The limit that a limit of a plan stands for; any other is what it is. */
export function limitOf<T>(
  place: string,
  limit: T | PlanLimit,
): T | ((context: LimitContext) => Units | undefined) {
  if (!isObject(limit)) return limit
  assertKnownOptions(place, limit, ['plan'])
  const { plan: name } = limit
  if (typeof name !== 'string' || name === '') {
    throw new ConfigError('invalid_option', `${place}.plan`, 'must be the name of a limit of plans')
  }
  return ({ plan }) => {
    if (Object.hasOwn(plan, name)) return plan[name]
    const message = 'must be the name of a limit that the plans of the limiter have'
    throw new ConfigError('invalid_option', `${place}.plan`, message)
  }
}

/** A limit, in one case. Whoever asks has seen to it that it is not `'configured'`. */
export const limitIn = (limit: Limit, context: LimitContext): Units | undefined =>
  resolved(limit as Exclude<Limit, 'configured'>, context)

/** A limit or a burst, in one case. */
export function resolved<T>(
  value: T | ((context: LimitContext) => T | undefined),
  context: LimitContext,
): T | undefined {
  return typeof value === 'function' ? (value as (context: LimitContext) => T)(context) : value
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
