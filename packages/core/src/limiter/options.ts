import type { AnyLimitName } from '../policies/limit.ts'
import type { Clock } from '../clock.ts'
import type { Plans } from '../policies/plans.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import type { Emitters, Problem } from './events.ts'
import type { Extension, ExtensionInstance } from './extensions.ts'
import type { LimiterRuntime } from './runtime.ts'
import { systemClock } from '../clock.ts'
import { ConfigError } from '../errors.ts'
import { resolveLimits } from '../policies/limit.ts'
import { collectRules } from '../policies/rules.ts'
import { withFallback, type OnStoreError } from '../stores/fallback.ts'
import { assertKnownOptions, assertOneOf } from '../internal/validation.ts'
import { compile } from './compile.ts'
import { NO_PLAN } from './decide.ts'
import { logged, throttled } from './problems.ts'

/** Options of `createLimiter`. */
export interface LimiterOptions<
  Dimension extends string = string,
  Unit extends string = string,
  Plan extends string = string,
  Name extends string = AnyLimitName,
> {
  /** The store that counts: `upstash()` or `memory()`. */
  readonly store: Store
  /** The rules, in the order in which a denial names them. */
  readonly policies: readonly Policy<Dimension, Unit, NoInfer<Name>>[]
  /** The plans that limits may depend on, made by `definePlans`. @default none */
  readonly plans?: Plans<Plan, Name>
  /** Extensions, such as `planResolver`, `runtimeConfiguration` or `listen`. @default none */
  readonly extensions?: readonly Extension[]
  /**
   * What to do when the store fails or is too slow: `'local'` holds the request to the same policies
   * counted in this process's memory, `'allow'` lets it pass, `'deny'` refuses it. @default 'local'
   */
  readonly onStoreError?: OnStoreError
  /** The time, for tests: it then decides even where the store has a clock. @default the store's clock */
  readonly clock?: Clock
}

/** The last moment that a `Date` holds, in epoch ms. */
const MAX_TIME = 8_640_000_000_000_000

const OPTIONS = ['store', 'policies', 'plans', 'extensions', 'onStoreError', 'clock']

/** Resolves the options of a limiter. @throws ConfigError When they are malformed. */
export function resolveOptions(options: LimiterOptions): LimiterRuntime {
  assertKnownOptions('createLimiter', options, OPTIONS)
  const { plans, extensions = [] } = options
  const policies = collectRules(options.policies)
  const mode = assertOneOf('onStoreError', options.onStoreError ?? 'local', [
    'allow',
    'deny',
    'local',
  ])
  const clock = validClock(options.clock === undefined ? systemClock : options.clock)
  tryLimits(policies, plans)
  let events: Emitters | undefined
  const primary = validStore(options.store)
  const host = {
    policies,
    plans,
    clock,
    store: primary,
    problem: (found: Problem) => events?.problem(found),
  }
  const joined = validExtensions(extensions).map((extension) => extension.join(host))
  requireConfiguration(policies, joined)
  const [first] = extensions
  const seam = first?.seam
  events = seam?.emittersOf(joined, clock) ?? { problem: throttled(logged, clock) }
  if (seam && events.storeCall) host.store = seam.observed(primary, events.storeCall)
  const store = withFallback(host.store, mode)
  return {
    program: compile(policies),
    store,
    clock,
    clockIsInjected: options.clock !== undefined,
    plans,
    events,
    extensions: joined,
    seam,
  }
}

const isExtension = (one: Partial<Extension> | undefined): boolean =>
  typeof one?.join === 'function'

function validExtensions(extensions: unknown): readonly Extension[] {
  if (Array.isArray(extensions) && extensions.every(isExtension)) {
    const names = (extensions as readonly Extension[]).flatMap(({ name }) => name ?? [])
    if (new Set(names).size === names.length) return extensions
    throw new ConfigError('invalid_option', 'extensions', 'must not hold two of one name')
  }
  const message = 'must be a list of extensions, such as [planResolver(…)]'
  throw new ConfigError('invalid_option', 'extensions', message)
}

/** A limit that is to be configured needs something to configure it. */
function requireConfiguration(
  policies: readonly PolicyRule[],
  extensions: readonly ExtensionInstance[],
): void {
  for (const { name, limit } of policies) {
    if (limit !== 'configured') continue
    const isAllowed = extensions.some(({ configures }) => configures(name, 'limit'))
    if (isAllowed) continue
    const message = `must have runtimeConfiguration that allows "limit" of policy "${name}"`
    throw new ConfigError('invalid_option', 'extensions', message)
  }
}

/** A clock of whole milliseconds: against NaN, everything would fit. */
function validClock(clock: Clock): Clock {
  if (typeof clock !== 'function') {
    throw new ConfigError('invalid_option', 'clock', 'must be a function that returns epoch ms')
  }
  return () => {
    const now = Math.floor(clock())
    if (now >= 0 && now <= MAX_TIME) return now
    const message = 'must return milliseconds since the Unix epoch'
    throw new ConfigError('invalid_option', 'clock', message)
  }
}

function validStore(store: unknown): Store {
  const { check, run, reset } = (store ?? {}) as Partial<Store>
  if ([check, run, reset].every((method) => typeof method === 'function')) {
    return store as Store
  }
  throw new ConfigError('invalid_option', 'store', 'must be a store, such as upstash() or memory()')
}

/** Resolves every limit once for every plan, so that a wrong one is found at construction. */
function tryLimits(policies: readonly PolicyRule[], plans: Plans | undefined): void {
  if (plans !== undefined && typeof plans?.get !== 'function') {
    throw new ConfigError('invalid_option', 'plans', 'must be made by definePlans')
  }
  for (const policy of policies) {
    for (const route of policy.routes ?? [undefined]) {
      for (const name of plans?.names ?? [undefined]) {
        const plan = (name !== undefined && plans?.get(name)) || NO_PLAN
        resolveLimits(policy, { plan, route, model: undefined }, undefined, name)
      }
    }
  }
}
