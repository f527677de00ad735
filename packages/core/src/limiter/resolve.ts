import type { Cost } from '../cost.ts'
import type { SkippedPolicy, SkipReason } from '../decision.ts'
import type { LimitContext, LimitSettings } from '../policies/limit.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Entry } from '../stores/store.ts'
import type { CompiledPolicy, Program } from './compile.ts'
import { costIn } from '../cost.ts'
import { resolveLimits } from '../policies/limit.ts'
import { lacksDimension, encodePartition, type Digests, type Subject } from '../subject.ts'

/** Settings of one policy in one partition that take precedence over the policy's own. */
export interface PolicySettings extends LimitSettings {
  readonly enabled?: boolean | undefined
  readonly enforced?: boolean | undefined
}

/** Everything about a request that its entries depend on. */
export interface EntryContext {
  readonly subject: Subject
  readonly cost: Cost | undefined
  readonly limits: LimitContext
  readonly plan: string | undefined
  readonly digests: Digests | undefined
  readonly settings: readonly SettingsLookup[]
}

/** Finds the settings of a policy in a partition. */
export type SettingsLookup = (policy: PolicyRule, partition: string) => PolicySettings | undefined

/** An entry, with the numbers of the whole policy: its own may be those of one part of several. */
export interface ResolvedEntry extends Entry {
  readonly wholeLimit: number
  readonly wholeBurst: number
}

/** The entries of a request, and the policies that take no part. */
export interface Resolved {
  readonly entries: readonly ResolvedEntry[]
  readonly skipped: readonly SkippedPolicy[]
}

/**
 * Stage one of a decision: finds out which policies take part, each with its key and numbers.
 *
 * @throws InputError When the subject lacks a dimension, or the cost a unit.
 * @throws ConfigError When a function for a limit returns no usable number.
 */
export function resolve({ compiled }: Program, context: EntryContext): Resolved {
  const entries: ResolvedEntry[] = []
  const skipped: SkippedPolicy[] = []
  const partitions: (string | undefined)[] = []
  for (let index = 0; index < compiled.length; index += 1) {
    const one = compiled[index] as CompiledPolicy
    const { policy } = one
    const { subject, digests } = context
    let why = reasonToSkip(policy, context)
    if (why === undefined) {
      const partition = (partitions[one.per] ??= encodePartition(subject, policy.per, digests))
      const entry = entryOf(one, index, partition, context)
      if (typeof entry !== 'string') {
        entries.push(entry)
        continue
      }
      why = entry
    }
    skipped.push({ name: policy.name, scope: policy.scope, why })
  }
  return { entries, skipped }
}

function reasonToSkip(
  { routes, onMissing, per }: PolicyRule,
  { subject, limits }: EntryContext,
): SkipReason | undefined {
  if (routes && !routes.includes(limits.route ?? '')) return 'other_route'
  return onMissing === 'skip' && lacksDimension(subject, per) ? 'missing_dimension' : undefined
}

function entryOf(
  { policy, prefix, rolloutName }: CompiledPolicy,
  index: number,
  partition: string,
  { cost: given, limits, plan, settings }: EntryContext,
): ResolvedEntry | SkipReason {
  const cost = costIn(given, policy.unit)
  let own: PolicySettings | undefined
  for (const settingsOf of settings) own ??= settingsOf(policy, partition)
  const allowance = resolveLimits(policy, limits, own, plan)
  if (typeof allowance === 'string') return allowance
  const { rollout, mode, params } = policy
  if (!(own?.enabled ?? rollout?.isEnabled(rolloutName, partition) ?? true)) return 'not_enabled'
  const enforced =
    own?.enforced ?? (mode === 'enforce' && (rollout?.isEnforced(rolloutName, partition) ?? true))
  const { limit, burst } = allowance
  const entry = {
    policy,
    index,
    key: prefix + partition,
    params,
    limit,
    burst,
    cost,
    enforced,
    wholeLimit: limit,
    wholeBurst: burst,
  }
  return policy.stripes > 1 ? inOnePart(entry) : entry
}

/** The entry in one of the parts of a policy: at random, among those that are large enough if any is. */
function inOnePart(entry: ResolvedEntry): ResolvedEntry {
  const { policy, key, limit, burst, cost } = entry
  const parts = Math.max(1, Math.min(policy.stripes, limit, burst))
  const larger = burst % parts
  const needsLarger = larger > 0 && cost === partOf(burst, 0, parts)
  const part = Math.floor(Math.random() * (needsLarger ? larger : parts))
  return {
    ...entry,
    key: keyOfPart(key, part, policy.stripes),
    limit: partOf(limit, part, parts),
    burst: partOf(burst, part, parts),
  }
}

/** One of `parts` parts of `units`, which differ by at most one. */
function partOf(units: number, part: number, parts: number): number {
  return Math.floor(units / parts) + (part < units % parts ? 1 : 0)
}

const keyOfPart = (key: string, part: number, parts: number): string => `${key}:${part}/${parts}`

/** The keys that hold what the subject's partition of a policy has used. @throws InputError As `resolve` does. */
export function keysOf(
  { policy, prefix }: CompiledPolicy,
  subject: Subject,
  digests: Digests | undefined,
): string[] {
  const key = prefix + encodePartition(subject, policy.per, digests)
  if (policy.stripes === 1) return [key]
  return Array.from({ length: policy.stripes }, (_, part) => keyOfPart(key, part, policy.stripes))
}
