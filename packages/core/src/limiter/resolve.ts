import type { SkippedPolicy, SkipReason } from '../decision.ts'
import type { CalendarSettings, PolicyRule, RequestFacts } from '../policies/policy.ts'
import type { Entry } from '../stores/store.ts'
import type { CompiledPolicy, Program } from './compile.ts'
import type { Problem } from './events.ts'
import { costIn, type Cost } from '../cost.ts'
import { resolveLimits, type LimitSettings } from '../policies/limit.ts'
import { lacksDimension, encodePartition, valueOf, type Digests, type Subject } from '../subject.ts'

/** Settings for one partition that take precedence over the policy's own. */
export interface PolicySettings extends LimitSettings {
  /** The zone and anchor of its calendar. */
  readonly calendar?: CalendarSettings | undefined
  readonly enabled?: boolean | undefined
  readonly enforced?: boolean | undefined
}

/** The facts of a request from which its entries are resolved. */
export interface EntryContext extends RequestFacts {
  readonly cost: Cost | undefined
  readonly plan: string | undefined
  readonly digests: Digests | undefined
  readonly settings: SettingsLookup | undefined
  readonly report: (problem: Problem) => void
}

/** Returns the settings of a policy in a partition, or `undefined` to leave the policy as it is. */
export type SettingsLookup = (policy: PolicyRule, partition: string) => PolicySettings | undefined

/** An entry, and the numbers of its whole policy: with stripes, those of the entry are a part of them. */
export interface ResolvedEntry extends Entry {
  readonly policyLimit: number
  readonly policyBurst: number
}

/** The entries of a request, and the policies that take no part. */
export interface Resolution {
  readonly entries: readonly ResolvedEntry[]
  readonly skipped: readonly SkippedPolicy[]
}

/**
 * The first stage of a decision: selects the policies that take part, each with its key and numbers.
 *
 * @throws InputError When the subject lacks a dimension, or the cost lacks a unit.
 * @throws ConfigError When a function for a limit or burst returns an invalid value.
 */
export function resolve({ compiled }: Program, context: EntryContext): Resolution {
  const entries: ResolvedEntry[] = []
  const skipped: SkippedPolicy[] = []
  for (let index = 0; index < compiled.length; index += 1) {
    const compiledPolicy = compiled[index] as CompiledPolicy
    const { name, scope } = compiledPolicy.policy
    const entry =
      reasonToSkip(compiledPolicy, context) ?? resolveEntry(compiledPolicy, index, context)
    if (typeof entry === 'string') skipped.push({ name, scope, why: entry })
    else entries.push(entry)
  }
  return { entries, skipped }
}

/** After this many subjects without a dimension, its name is reported as possibly misspelt. */
const MANY_MISSING = 20

function reasonToSkip(
  compiledPolicy: CompiledPolicy,
  { subject, limits, report }: EntryContext,
): SkipReason | undefined {
  const { routes, onMissing, per, name } = compiledPolicy.policy
  if (routes && !routes.includes(limits.route ?? '')) return 'other_route'
  if (onMissing !== 'skip') return undefined
  const isMissing = lacksDimension(subject, per)
  // A subject that has a dimension as `undefined` knows its name, and leaves it out on purpose.
  if (!isMissing || (per as readonly string[]).every((dimension) => dimension in subject)) {
    compiledPolicy.missingDimensionCount = Infinity
  }
  if (!isMissing) return undefined
  compiledPolicy.missingDimensionCount += 1
  if (compiledPolicy.missingDimensionCount === MANY_MISSING) {
    const message = `policies.${name} limits nobody: subjects lack ${String(per)}; is it misspelt?`
    report({ code: 'policy_skipped', message })
  }
  return 'missing_dimension'
}

/** Resolves one policy to an entry, or to the reason for which it takes no part. */
function resolveEntry(
  compiledPolicy: CompiledPolicy,
  index: number,
  context: EntryContext,
): ResolvedEntry | SkipReason {
  const { subject, digests, cost: requestCost, limits, plan } = context
  const { policy, prefix } = compiledPolicy
  const key = keyOf(compiledPolicy, subject, digests)
  const partition = key.slice(prefix.length)
  const cost = costIn(requestCost, policy.unit)
  const settings = context.settings?.(policy, partition)
  const allowance = resolveLimits(policy, limits, settings, plan)
  if (typeof allowance === 'string') return allowance
  const { rollout, mode, params, numbers } = policy
  // Windows over one log are rolled out together.
  const rolloutName = policy.keyspace?.name ?? policy.name
  const isEnabled = settings?.enabled ?? rollout?.isEnabled(rolloutName, partition) ?? true
  if (!isEnabled) return 'not_enabled'
  const enforced =
    settings?.enforced ??
    (mode === 'enforce' && (rollout?.isEnforced(rolloutName, partition) ?? true))
  const { limit, burst } = allowance
  const entry = {
    policy,
    index,
    key,
    params,
    limit,
    burst,
    cost,
    enforced,
    policyLimit: limit,
    policyBurst: burst,
    ...numbers?.of(context, settings),
  }
  return policy.stripes > 1 ? pickStripe(entry) : entry
}

/** The most keys of a policy to remember. Past that, all are forgotten. */
const MAX_RECENT_KEYS = 1_000

/**
 * Returns the key that counts a policy for a subject. A recent one is the same string as before: an engine has
 * to join and hash a new one in each map in which it is looked up.
 */
function keyOf(
  { policy: { per }, prefix, recentKeys }: CompiledPolicy,
  subject: Subject,
  digests: Digests | undefined,
): string {
  let value: unknown
  if (per === 'global') value = per
  else if (per.length === 1 && !digests) value = valueOf(per[0] as string, subject)
  const recent = recentKeys.get(value)
  if (recent !== undefined) return recent
  const key = prefix + encodePartition(subject, per, digests)
  if (value !== undefined) {
    if (recentKeys.size === MAX_RECENT_KEYS) recentKeys.clear()
    recentKeys.set(value, key)
  }
  return key
}

/** Restricts an entry to a random stripe of its policy; to a larger one if only those can hold the cost. */
function pickStripe(entry: ResolvedEntry): ResolvedEntry {
  const { policy, key, limit, burst, cost } = entry
  const count = Math.max(1, Math.min(policy.stripes, limit, burst))
  const largerCount = burst % count
  const needsLarger = largerCount > 0 && cost === stripeShare(burst, 0, count)
  const stripe = Math.floor(Math.random() * (needsLarger ? largerCount : count))
  return {
    ...entry,
    key: stripeKey(key, stripe, policy.stripes),
    limit: stripeShare(limit, stripe, count),
    burst: stripeShare(burst, stripe, count),
  }
}

/** Returns the units of one stripe. The first stripes hold the remainder, one unit each. */
function stripeShare(units: number, stripe: number, count: number): number {
  return Math.floor(units / count) + (stripe < units % count ? 1 : 0)
}

const stripeKey = (key: string, stripe: number, count: number): string =>
  `${key}:${stripe}/${count}`

/** Returns the keys that count a policy for a subject. @throws InputError As `resolve` does. */
export function keysOf(
  compiledPolicy: CompiledPolicy,
  subject: Subject,
  digests: Digests | undefined,
): string[] {
  const { policy } = compiledPolicy
  const key = keyOf(compiledPolicy, subject, digests)
  if (policy.stripes === 1) return [key]
  return Array.from({ length: policy.stripes }, (_, stripe) =>
    stripeKey(key, stripe, policy.stripes),
  )
}
