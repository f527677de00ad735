import type { Extension } from '../limiter/extensions.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { ConfigurationSize } from './document-size.ts'
import type { ConnectedRecords } from './connected-records.ts'
import type { PartitionRecords } from './partition-records.ts'
import {
  assertKnownOptions,
  assertName,
  assertOneOf,
  assertOptions,
  invalidOption,
} from '../internal/validation.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import { CONFIGURATION, ConfigurationCopy } from './configuration-copy.ts'
import { SETTINGS, type ConfigurablePolicies, type Setting } from './settings.ts'

/** Options of `runtimeConfiguration`. */
export interface RuntimeConfigurationOptions {
  /** The settings that may be changed, by the names of policies. */
  readonly allow: Readonly<Record<string, readonly Setting[]>>
  /** The name of the configuration in the store. Limiters with the same name share it. @default 'default' */
  readonly name?: string
  /**
   * Keeps the settings of each partition in a record of its own, created by `partitionRecords`, for more
   * than 1,000 partitions. @default in one document, which each isolate loads
   */
  readonly partitions?: PartitionRecords
}

/** The parts of a limiter that `configure` works with. */
export interface ConfigurationHandle {
  readonly cache: ConfigurationCopy
  /** `undefined` if the document has the settings of partitions, too. */
  readonly partitions: ConnectedRecords | undefined
}

/** The longest time for a load: the store's own, and the wait for another request's load. */
const MAX_WAIT_MS = 61_000

const ALLOW = 'runtimeConfiguration.allow'

/**
 * Allows changes to settings of policies while the app runs, with `configure`. They are kept in the
 * store, in the hash `config:<name>`. Isolates look there every 5 seconds, along with a decision.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * const limiter = createLimiter({
 *   store: upstash(),
 *   policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })],
 *   extensions: [runtimeConfiguration({ allow: { rpm: ['limit', 'mode'] } })],
 * })
 * await configure(limiter, { rpm: { limit: 30 } })
 */
export function runtimeConfiguration(options: RuntimeConfigurationOptions): Extension {
  assertKnownOptions('runtimeConfiguration', options, ['allow', 'name', 'partitions'])
  const name = assertName('runtimeConfiguration.name', options.name ?? 'default')
  const allowed = assertAllow(options.allow)
  assertPartitions(options.partitions)
  return defineExtension({
    name: CONFIGURATION,
    connect(context) {
      const report = (problem: string): void => {
        const message = `The configuration "${name}" in the store: ${problem}; it is ignored`
        context.problem({ code: 'invalid_configuration', message })
      }
      const onAlmostFull = ({ share }: ConfigurationSize): void => {
        const message = `The configuration "${name}" in the store is ${Math.floor(share * 100)} % full: add partitionRecords(), or soon no more partitions can be set`
        context.problem({ code: 'configuration_almost_full', message })
      }
      const policies = configurablePolicies(allowed, context.policies)
      const key = `config:${name}`
      const cache = new ConfigurationCopy(context, key, policies, report, onAlmostFull)
      const { records, clock } = context
      const partitions = options.partitions?.connect({ records, clock, key, shared: cache, report })
      // A decision that is repeated charges in any case.
      const begun = new WeakSet<object>()
      const handle: ConfigurationHandle = { cache, partitions }
      return {
        before(call) {
          const isRepeated = begun.has(call)
          begun.add(call)
          return (
            partitions?.contribute(call, isRepeated) ?? cache.contribute(call.startedAt, isRepeated)
          )
        },
        maxWaitMs: MAX_WAIT_MS,
        configures: (policy, setting) =>
          policies.get(policy)?.allowed.some((item) => item === setting) === true,
        handle,
      }
    },
  })
}

function assertPartitions(partitions: Partial<PartitionRecords> | null | undefined): void {
  if (partitions === undefined || typeof partitions?.connect === 'function') return
  throw invalidOption('runtimeConfiguration.partitions', 'must be created by partitionRecords')
}

type AllowedSettings = readonly (readonly [policy: string, settings: readonly Setting[]])[]

function assertAllow(allow: unknown): AllowedSettings {
  assertOptions(ALLOW, allow)
  const allowed = Object.entries(allow).map(([policy, settings]) => {
    const option = `${ALLOW}.${assertName(`${ALLOW}.${policy}`, policy)}`
    const list: unknown[] = Array.isArray(settings) ? settings : []
    if (list.length === 0) {
      throw invalidOption(option, `must be a list of at least one of "${SETTINGS.join('", "')}"`)
    }
    return [policy, list.map((setting) => assertOneOf(option, setting, SETTINGS))] as const
  })
  if (allowed.length > 0) return allowed
  throw invalidOption(ALLOW, 'must name at least one policy')
}

function configurablePolicies(
  allow: AllowedSettings,
  policies: readonly PolicyRule[],
): ConfigurablePolicies {
  const entries = allow.map(([name, allowed]) => {
    const option = `${ALLOW}.${name}`
    const policy = policies.find((rule) => rule.name === name && !rule.follows)
    if (!policy) throw invalidOption(option, 'must be a policy of the limiter', name)
    if (allowed.includes('burst') && policy.burst === undefined) {
      throw invalidOption(option, 'must not list "burst": only buckets have it')
    }
    if (allowed.includes('limit') && policy.balance && !policy.calendar) {
      const message =
        'must not list "limit": a balance without "included" has none; grant or adjust it'
      throw invalidOption(option, message)
    }
    const ofCalendar = allowed.find((setting) => setting === 'zone' || setting === 'anchor')
    if (ofCalendar) {
      if (!policy.calendar) {
        const message = `must not list "${ofCalendar}": only policies with a calendar have it`
        throw invalidOption(option, message)
      }
      policy.calendar.allowSettings()
    }
    return [name, { policy, allowed }] as const
  })
  return new Map(entries)
}
