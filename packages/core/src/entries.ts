import type { Entry, Verdict } from './algorithm.ts'
import type { PolicyState, SkippedPolicy, SkipReason } from './decision.ts'
import type { Allowance, LimitContext, LimitSettings } from './limit.ts'
import type { Policy } from './policy.ts'
import type { Rollout } from './rollout.ts'
import type { Subject } from './subject.ts'
import { delayAt } from './backpressure.ts'
import { allowanceOf } from './limit.ts'
import { keyPrefix } from './policy.ts'
import { inShare } from './rollout.ts'
import { lacksDimension, partitionKey } from './subject.ts'

/** What may be set at run time for a policy, or for one of its partitions. */
export interface PolicySettings extends LimitSettings, Partial<Rollout> {}

/** A policy's part in one decision. */
export interface Asked {
  readonly policy: Policy
  readonly entry: Entry
  /** The limit and burst of the whole policy; an entry has those of its shard. */
  readonly allowance: Exclude<Allowance, string>
}

/** What decides about a policy beside the policy itself. */
export interface Case {
  readonly subject: Subject
  readonly context: LimitContext
  readonly plan: string | undefined
  /** The cost in a unit. */
  readonly cost: (unit: string) => number
  /** What is set at run time. */
  readonly settings: (policy: Policy, partition: string) => PolicySettings | undefined
}

/** A policy's part in a decision about `subject`, or why it takes none. */
export async function entryOf(
  policy: Policy,
  { subject, context, plan, settings, cost: costIn }: Case,
): Promise<Asked | SkippedPolicy> {
  const { name, scope, routes, per, onMissing } = policy
  const skipped = (why: SkipReason): SkippedPolicy => ({ name, scope, why })
  if (routes && !routes.includes(context.route ?? '')) return skipped('other_route')
  if (onMissing === 'skip' && lacksDimension(subject, per)) return skipped('missing_dimension')
  const cost = costIn(policy.unit)
  const partition = await partitionKey(subject, per)
  // The windows of one log are let in together.
  const rollout = policy.log?.name ?? name
  const set = settings(policy, partition)
  const allowance = allowanceOf(policy, context, set, plan)
  if (typeof allowance === 'string') return skipped(allowance)
  const { enabled, enforced } = { ...policy.rollout, ...set }
  if (!inShare(`${rollout}/enabled:${partition}`, enabled)) return skipped('not_enabled')
  const shards = Math.min(policy.shards, allowance.limit, allowance.burst)
  const shard = shardFor(cost, allowance.burst, shards)
  const entry = {
    key: keyOf(policy, partition, shard),
    algorithm: policy.algorithm,
    limit: part(allowance.limit, shard, shards),
    burst: part(allowance.burst, shard, shards),
    cost,
    enforced: inShare(`${rollout}/enforced:${partition}`, enforced),
    params: policy.params,
  }
  return { policy, entry, allowance }
}

/** The keys that hold what a partition has used. */
export async function keysOf(policy: Policy, subject: Subject): Promise<string[]> {
  const partition = await partitionKey(subject, policy.per)
  return Array.from({ length: policy.shards }, (_, shard) => keyOf(policy, partition, shard))
}

function keyOf(policy: Policy, partition: string, shard: number): string {
  const key = `${keyPrefix(policy)}:${partition}`
  return policy.shards > 1 ? `${key}:${shard}/${policy.shards}` : key
}

/** A shard at random, among those whose part of `burst` is large enough for the cost if there are any. */
function shardFor(cost: number, burst: number, shards: number): number {
  if (shards === 1) return 0
  const larger = burst % shards
  const needsLarger = larger > 0 && cost === part(burst, 0, shards)
  return Math.floor(Math.random() * (needsLarger ? larger : shards))
}

/** One of `shards` parts of `units`, which differ by at most one. */
function part(units: number, shard: number, shards: number): number {
  return Math.floor(units / shards) + (shard < units % shards ? 1 : 0)
}

/** A policy's state after a decision. */
export function stateOf(
  { policy, entry, allowance }: Asked,
  verdict: Verdict,
  charged: boolean,
): PolicyState {
  const { name, scope, unit, windowMs, reason, backpressure } = policy
  const { cost, enforced, burst } = entry
  const remaining = Math.max(0, verdict.available - (charged ? cost : 0))
  // By what would be left after the cost, so that a peek tells what a check would.
  const share = 1 - (verdict.available - cost) / burst
  const delayMs = backpressure && enforced && verdict.fits ? delayAt(share, backpressure) : 0
  return {
    name,
    scope,
    unit,
    limit: allowance.limit,
    burst: allowance.burst,
    remaining,
    cost,
    windowMs,
    resetMs: verdict.resetMs,
    fits: verdict.fits,
    enforced,
    delayMs: enforced ? Math.max(delayMs, verdict.waitMs ?? 0) : 0,
    retryAfterMs: verdict.retryMs < 0 ? null : verdict.retryMs,
    reason,
  }
}
