import type { ManifestParts, ManifestPolicy, OptionsOf } from './types.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import { backpressure } from '../policies/backpressure.ts'
import { concurrency } from '../policies/concurrency.ts'
import { dailyCap, fixedWindow, monthlyCap } from '../policies/fixed-window.ts'
import { leakyBucket } from '../policies/leaky-bucket.ts'
import { rollout } from '../policies/rollout.ts'
import { collectRules } from '../policies/rules.ts'
import { sessionWindow } from '../policies/session-window.ts'
import { slidingWindowCounter } from '../policies/sliding-window-counter.ts'
import { slidingWindow } from '../policies/sliding-window.ts'
import { slidingWindows } from '../policies/sliding-windows.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import { assertOneOf, assertOptions, invalidOption } from '../internal/validation.ts'
import { planLimit } from './limits.ts'
import { atPath } from './path.ts'

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
  sessionWindow,
  concurrency,
}

/** A policy of a manifest. */
export interface RuleEntry {
  /** The path of its options in errors, such as `manifest.policies[0]`. */
  readonly path: string
  readonly rule: PolicyRule
}

const ALGORITHMS = Object.keys(FACTORIES) as (keyof OptionsOf)[]

/** Creates the rules of a policy of a manifest. @throws ConfigError When an option is malformed. */
export function parsePolicy(
  path: string,
  policy: ManifestPolicy,
  parts: ManifestParts,
): readonly PolicyRule[] {
  if (typeof policy === 'function') return atPath('policies[0]', path, () => collectRules([policy]))
  assertOptions(path, policy)
  const { algorithm, ...data } = policy
  const name = assertOneOf(`${path}.algorithm`, algorithm, ALGORITHMS)
  const factory = FACTORIES[name] as (options: object) => Policy
  const options = convertEach(path, data, (option, value, of) =>
    of === 'resets' ? calendarOf(option, value, parts) : convertOption(option, value, of),
  )
  return atPath(name, path, () => factory(options)())
}

type Convert = (path: string, value: unknown, name: string) => unknown

/** Converts one option from plain data to what a factory takes. */
const convertOption: Convert = (path, value, name) =>
  Object.hasOwn(CONVERSIONS, name) ? CONVERSIONS[name]?.(path, value, name) : value

const CONVERSIONS: Readonly<Record<string, Convert>> = {
  limit: planLimit,
  burst: planLimit,
  windows: (path, value) =>
    convertEach(path, value, (window, options) => convertEach(window, options, convertOption)),
  backpressure: convertPart,
  rollout: convertPart,
}

function convertEach<T>(path: string, value: T, convert: Convert): T {
  if (typeof value !== 'object' || value === null) return value
  const converted = Object.entries(value).map(([name, item]: [string, unknown]) => [
    name,
    convert(`${path}.${name}`, item, name),
  ])
  return Object.fromEntries(converted) as T
}

const PARTS: Readonly<Record<string, (options: object) => unknown>> = { backpressure, rollout }

/** Returns a calendar of plain data. */
function calendarOf(path: string, value: unknown, { calendar }: ManifestParts): unknown {
  if (typeof value !== 'object' || value === null || 'configure' in value) return value
  if (calendar) return atPath('calendar', path, () => calendar(value))
  const message = 'must be created by calendar, or as data: defineManifest(manifest, { calendar })'
  throw invalidOption(path, message)
}

function convertPart(path: string, value: unknown, name: string): unknown {
  // The factory's own result contains functions.
  const isMade = Object.values(Object(value) as object).some((item) => typeof item === 'function')
  if (value === undefined || isMade) return value
  return atPath(name, path, () => PARTS[name]?.(value as object))
}
