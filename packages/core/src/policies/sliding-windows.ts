import type { AnyLimitName, Limit } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions, PolicyRule } from './policy.ts'
import { sharedLogAlgorithm, SUM_MODULUS } from '../algorithms/shared-log.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { ConfigError } from '../errors.ts'
import { assertKnownOptions, MAX_UNITS, assertOptions, assertName } from '../internal/validation.ts'
import { assertLimitOption } from './limit.ts'
import { defineRule, createPolicy } from './policy.ts'

/** Options of policies over one log: those of every policy, but for what each window has of its own. */
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
  /** The windows by name, each with its own limit; the policy of each is named `<name>.<window>`. */
  readonly windows: {
    readonly [Window in string]: { readonly limit: Limit<Name>; readonly window: Duration }
  }
}

/** A window over a log. */
export interface LogWindow {
  readonly limit: Limit
  readonly windowMs: number
}

/**
 * Allows units in several sliding windows at once, all of which count in one sorted set, so that each
 * request is stored once. Exact. In decisions, each window is a policy named `<name>.<window>`.
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
  const given = options as SlidingWindowsOptions
  return createPolicy(defineLogRules('slidingWindows', given, ['windows'], readWindows(given)))
}

function readWindows({ windows }: SlidingWindowsOptions): Map<string, LogWindow> {
  const where = 'slidingWindows.windows'
  assertOptions(where, windows)
  const found = new Map<string, LogWindow>()
  for (const [name, own] of Object.entries(windows)) {
    assertKnownOptions(`${where}.${assertName(`${where}.${name}`, name)}`, own, ['limit', 'window'])
    found.set(name, {
      limit: assertLimitOption(`${where}.${name}.limit`, own.limit),
      windowMs: durationMs(`${where}.${name}.window`, own.window),
    })
  }
  if (found.size > 0) return found
  throw new ConfigError('invalid_option', where, 'must name at least one window')
}

/** Makes a rule of each window, by its name. All of them count in one log. */
export function defineLogRules(
  factory: string,
  options: SharedLogOptions,
  ownOptions: readonly string[],
  windows: ReadonlyMap<string, LogWindow>,
): PolicyRule[] {
  for (const option of ['limit', 'stripes'] as const) {
    if ((options as Partial<PolicyOptions>)[option] === undefined) continue
    const message = 'has no meaning for several windows, which count in one log, each to its limit'
    throw new ConfigError('invalid_option', `${factory}.${option}`, message)
  }
  const { unit = 'request' } = options
  const name = assertName(`${factory}.name`, options.name)
  const lengths = Array.from(windows.values(), ({ windowMs }) => windowMs)
  const longest = Math.max(...lengths)
  // Whichever of the windows binds, what the longest one holds stays below the sums' modulus.
  const turns = windows.size * (Math.floor(longest / Math.min(...lengths)) + 1)
  const keyspace = { name: unit === 'request' ? name : `${name}:${unit}`, params: [longest] }
  return Array.from(windows, ([windowName, { limit, windowMs }]) =>
    defineRule(factory, { ...options, name: `${name}.${windowName}`, limit }, ownOptions, () => ({
      algorithm: sharedLogAlgorithm,
      params: [windowMs, longest],
      windowMs,
      maxUnits: Math.min(MAX_UNITS, Math.floor(SUM_MODULUS / turns)),
      keyspace,
    })),
  )
}
