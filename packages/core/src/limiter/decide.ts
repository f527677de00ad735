import type { StoreReply, StoreRequest } from '../stores/store.ts'
import type { ExtensionCall } from './call.ts'
import type { Contribution, TrackedRecord } from './extensions.ts'
import type { DecideCall, Outcome } from './outcome.ts'
import type { LimiterRuntime } from './runtime.ts'
import { systemClock } from '../clock.ts'
import { assertCost } from '../cost.ts'
import { requestId } from '../internal/random-id.ts'
import { digestLongValues, hasLongValue } from '../subject.ts'
import { conclude } from './conclude.ts'
import { resolvePlan } from './plan.ts'
import { resolve, type ResolvedEntry } from './resolve.ts'

/**
 * Decides at once. A decision based on outdated records that has charged nothing is made a second time with the current
 * ones.
 *
 * @throws InputError When the subject lacks a dimension or the cost is malformed.
 */
export async function decide(runtime: LimiterRuntime, call: DecideCall): Promise<Outcome> {
  assertCost(call.cost, runtime.program.units)
  const extensionCall = runtime.seam?.startCall(call)
  const first = await decideOnce(runtime, call, extensionCall)
  if (!first.isOutdated || first.reply.verdicts.some(({ charged }) => charged)) return first
  const second = await decideOnce(runtime, call, extensionCall)
  // The store has denied, so a degraded decision does not replace it.
  return second.decision.degraded && !first.decision.allowed
    ? { ...first, unanswered: second }
    : second
}

/** Decides in three stages: resolve, the store, conclude. Extensions contribute before the first. */
async function decideOnce(
  runtime: LimiterRuntime,
  call: DecideCall,
  extensionCall: ExtensionCall | undefined,
): Promise<Outcome> {
  const { program, store, seam, events, extensions } = runtime
  const { subject, fit } = call
  const start = extensionCall ?? { startedAt: systemClock() }
  const digests = hasLongValue(subject, program.dimensions)
    ? await digestLongValues(subject, program.dimensions)
    : undefined
  const contribution = extensionCall && (await seam?.contribute(extensions, extensionCall))

  // Resolve: select the policies that take part, each with its key and numbers.
  const resolvedPlan = resolvePlan(runtime, subject, contribution?.plan)
  const { plan, limits } = resolvedPlan
  const { route, model } = subject
  const { entries: resolved, skipped } = resolve(
    program,
    {
      subject,
      cost: call.cost,
      limits: { plan: limits, route, model },
      plan,
      digests,
      settings: contribution?.settings,
    },
    events.problem,
  )

  // The store: check all entries, then charge all of them if all fit.
  const request = requestOf(runtime, call, resolved, start.startedAt, contribution)
  const { id, now, reads } = request
  const reply: StoreReply =
    resolved.length + reads.length > 0
      ? await store.check(request)
      : { source: 'store', now, verdicts: [], values: [] }

  // Conclude: turn the reply into a decision.
  const entries = fit?.kind.charge(fit, resolved, reply) ?? resolved
  const decision = conclude(entries, reply, skipped, resolvedPlan)
  const isOutdated = !decision.degraded && updateRecords(reply.values, contribution?.reads)
  return { id, extensionCall, decision, entries, reply, isOutdated }
}

function requestOf(
  { program, clock, clockIsInjected, seam }: LimiterRuntime,
  { apply, markFor, fit, id = requestId() }: DecideCall,
  entries: readonly ResolvedEntry[],
  startedAt: number,
  { reads = [], failure }: Contribution = {},
): StoreRequest {
  return {
    policies: program.policies,
    entries,
    apply,
    // Reading the clock takes a while. It has moved on only if an extension waited.
    now: seam || clockIsInjected ? clock() : startedAt,
    clockIsInjected,
    startedAt,
    reads: reads.map(({ field }) => field),
    id,
    mark: markFor?.(id, entries),
    fit,
    failure,
  }
}

/** Gives each record its current value. Returns true if one of them was outdated. */
function updateRecords(
  values: readonly (string | undefined)[],
  records: readonly TrackedRecord[] = [],
): boolean {
  const wereOutdated = records.map((record, index) => record.update(values[index]))
  return wereOutdated.includes(true)
}
