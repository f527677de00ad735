import type { PolicyRule } from '../policies/policy.ts'
import type { LimiterRuntime } from './runtime.ts'
import { ConfigError } from '../errors.ts'
import { assertKnownOptions, assertOneOf } from '../internal/validation.ts'
import { rulesSharingKeys } from '../policies/rules.ts'
import { digestLongValues, lacksDimension, type Subject } from '../subject.ts'
import { assertSubject } from './call.ts'
import { keysOf } from './resolve.ts'

/** Options of `reset`. */
export interface ResetOptions {
  /** The policies to reset, by name. @default all except those with per `'global'` */
  readonly policies?: readonly string[]
}

/** Removes the counts of the subject's partitions. See `Limiter.reset`. */
export async function reset(
  { program, store }: LimiterRuntime,
  subject: Subject,
  options: ResetOptions = {},
): Promise<void> {
  assertSubject(subject)
  const rules = policiesToReset(program.policies, subject, options)
  const digests = await digestLongValues(subject, program.dimensions)
  const keys = program.compiled
    .filter(({ policy }) => rules.includes(policy))
    .flatMap((compiled) => keysOf(compiled, subject, digests))
  if (keys.length > 0) await store.reset([...new Set(keys)])
}

/** Selects the policies that a reset applies to. @throws ConfigError When an option is malformed. */
export function policiesToReset(
  policies: readonly PolicyRule[],
  subject: Subject,
  options: ResetOptions,
): readonly PolicyRule[] {
  assertKnownOptions('reset', options, ['policies'])
  const { policies: names } = options
  if (names !== undefined) assertPolicyNames(names, policies)
  return policies.filter(
    ({ name, per, onMissing }) =>
      (names ? names.includes(name) : per !== 'global') &&
      !(onMissing === 'skip' && lacksDimension(subject, per)),
  )
}

function assertPolicyNames(names: readonly string[], policies: readonly PolicyRule[]): void {
  if (!Array.isArray(names)) throw invalid('must be a list of policy names', names)
  for (const given of names as readonly string[]) {
    const name = assertOneOf(
      'reset.policies',
      given,
      policies.map((rule) => rule.name),
    )
    const policy = policies.find((rule) => rule.name === name) as PolicyRule
    const together = rulesSharingKeys(policy, policies).map((rule) => rule.name)
    if (together.every((other) => names.includes(other))) continue
    throw invalid(`must name ${together.join(', ')} together, which share a log`, names.join())
  }
}

const invalid = (message: string, given: unknown): ConfigError =>
  new ConfigError('invalid_option', 'reset.policies', message, given)
