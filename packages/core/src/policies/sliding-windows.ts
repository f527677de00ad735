import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions, PolicyRule } from './policy.ts'
import { sharedLogAlgorithm, SUM_MODULUS } from '../algorithms/shared-log.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import {
  assertKnownOptions,
  assertName,
  assertOptions,
  invalidOption,
  MAX_UNITS,
} from '../internal/validation.ts'
import { assertLimitOption, type AnyLimitName, type Limit } from './limit.ts'
import { defineRule, createPolicy } from './define-rule.ts'

/** Options of policies over one log: those of every policy, except those that each window has itself. */
export type SharedLogOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> = Omit<PolicyOptions<Partition, Unit, Name>, 'limit' | 'stripes'>

/** Options of `slidingWindows`. */
export interface SlidingWindowsOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends SharedLogOptions<Partition, Unit, Name> {
  /** The windows by name, each with its limit and length. The policy of each is named `<name>.<window>`. */
  readonly windows: {
    readonly [Window in string]: { readonly limit: Limit<Name>; readonly window: Duration }
  }
}

/** A window over a log, validated. */
export interface LogWindow {
  readonly limit: Limit
  readonly windowMs: number
}

/**
 * Limits several sliding windows at once. Exact. In a decision, each window is a policy named
 * `<name>.<window>`. All of them count in one sorted set per partition, which stores each request once.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * const windows = { minute: { limit: 60, window: '1m' }, day: { limit: 9_000, window: '1d' } } as const
 * slidingWindows({ name: 'project', windows, per: ['project'] })
 */
export function slidingWindows<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: SlidingWindowsOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  assertOptions('slidingWindows', options)
  const windows = parseWindows('slidingWindows.windows', options as SlidingWindowsOptions)
  return createPolicy(
    defineLogRules('slidingWindows', options as SlidingWindowsOptions, ['windows'], windows),
  )
}

function parseWindows(option: string, { windows }: SlidingWindowsOptions): Map<string, LogWindow> {
  assertOptions(option, windows)
  const parsed = new Map<string, LogWindow>()
  for (const [name, options] of Object.entries(windows)) {
    const path = `${option}.${name}`
    assertName(path, name)
    assertKnownOptions(path, options, ['limit', 'window'])
    parsed.set(name, {
      limit: assertLimitOption(`${path}.limit`, options.limit),
      windowMs: durationMs(`${path}.window`, options.window),
    })
  }
  if (parsed.size > 0) return parsed
  throw invalidOption(option, 'must name at least one window')
}

/** Defines a rule for each window. All of them count in one log. */
export function defineLogRules(
  factory: string,
  options: SharedLogOptions,
  ownOptions: readonly string[],
  windows: ReadonlyMap<string, LogWindow>,
): PolicyRule[] {
  for (const option of ['limit', 'stripes'] as const) {
    if ((options as Partial<PolicyOptions>)[option] === undefined) continue
    const message = 'must be left out: each window has its own limit, and all count in one log'
    throw invalidOption(`${factory}.${option}`, message)
  }
  const { unit = 'request' } = options
  const name = assertName(`${factory}.name`, options.name)
  const lengthsMs = Array.from(windows.values(), ({ windowMs }) => windowMs)
  const longestMs = Math.max(...lengthsMs)
  // Whichever window denies, the units in the longest one stay below the modulus of sums.
  const maxRefills = windows.size * (Math.floor(longestMs / Math.min(...lengthsMs)) + 1)
  const keyspace = { name: unit === 'request' ? name : `${name}:${unit}`, params: [longestMs] }
  return Array.from(windows, ([windowName, { limit, windowMs }]) =>
    defineRule(factory, { ...options, name: `${name}.${windowName}`, limit }, ownOptions, () => ({
      algorithm: sharedLogAlgorithm,
      params: [windowMs, longestMs],
      windowMs,
      maxUnits: Math.min(MAX_UNITS, Math.floor(SUM_MODULUS / maxRefills)),
      keyspace,
    })),
  )
}
