import type { Extension } from '../limiter/extensions.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { ConfigError } from '../errors.ts'
import {
  assertKnownOptions,
  assertName,
  assertOneOf,
  assertOptions,
} from '../internal/validation.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import { CONFIGURATION, ConfigurationCache } from './configuration-cache.ts'
import { SETTINGS, type ConfigurablePolicies, type Setting } from './settings.ts'

/** Options of `runtimeConfiguration`. */
export interface RuntimeConfigurationOptions {
  /** The settings that may be changed, by the names of policies. */
  readonly allow: Readonly<Record<string, readonly Setting[]>>
  /** The name of the configuration in the store. Limiters with the same name share it. @default 'default' */
  readonly name?: string
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
  assertKnownOptions('runtimeConfiguration', options, ['allow', 'name'])
  const name = assertName('runtimeConfiguration.name', options.name ?? 'default')
  const allowed = assertAllow(options.allow)
  return defineExtension({
    name: CONFIGURATION,
    connect(context) {
      const report = (problem: string): void => {
        const message = `The configuration "${name}" in the store: ${problem}; it is ignored`
        context.problem({ code: 'invalid_configuration', message })
      }
      const policies = configurablePolicies(allowed, context.policies)
      const cache = new ConfigurationCache(context, `config:${name}`, policies, report)
      return {
        before: ({ startedAt }) => cache.contribute(startedAt),
        maxWaitMs: MAX_WAIT_MS,
        configures: (policy, setting) =>
          policies.get(policy)?.allowed.some((item) => item === setting) === true,
        handle: cache,
      }
    },
  })
}

type AllowedSettings = readonly (readonly [policy: string, settings: readonly Setting[]])[]

function assertAllow(allow: unknown): AllowedSettings {
  assertOptions(ALLOW, allow)
  const allowed = Object.entries(allow).map(([policy, settings]) => {
    const option = `${ALLOW}.${assertName(`${ALLOW}.${policy}`, policy)}`
    const list: unknown[] = Array.isArray(settings) ? settings : []
    if (list.length === 0) {
      const message = `must be a list of at least one of "${SETTINGS.join('", "')}"`
      throw new ConfigError('invalid_option', option, message)
    }
    return [policy, list.map((setting) => assertOneOf(option, setting, SETTINGS))] as const
  })
  if (allowed.length > 0) return allowed
  throw new ConfigError('invalid_option', ALLOW, 'must name at least one policy')
}

function configurablePolicies(
  allow: AllowedSettings,
  policies: readonly PolicyRule[],
): ConfigurablePolicies {
  const entries = allow.map(([name, allowed]) => {
    const option = `${ALLOW}.${name}`
    const policy = policies.find((rule) => rule.name === name)
    if (!policy) throw new ConfigError('invalid_option', option, 'must be a policy of the limiter')
    if (allowed.includes('burst') && policy.burst === undefined) {
      throw new ConfigError('invalid_option', option, 'must not list "burst": only buckets have it')
    }
    return [name, { policy, allowed }] as const
  })
  return new Map(entries)
}
