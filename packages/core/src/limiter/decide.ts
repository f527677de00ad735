import type { Decision } from '../decision.ts'
import type { Fit, SettlementMark, StoreReply, StoreRequest } from '../stores/store.ts'
import type { ExtensionCall, LimiterCall } from './call.ts'
import type { CombinedContribution, TrackedRecord } from './extensions.ts'
import type { ResolvedEntry } from './resolve.ts'
import type { LimiterRuntime } from './runtime.ts'
import { systemClock } from '../clock.ts'
import { assertCost } from '../cost.ts'
import { requestId } from '../internal/random-id.ts'
import { digestLongValues, hasLongValue } from '../subject.ts'
import { conclude } from './conclude.ts'
import { resolvePlan } from './plan.ts'
import { resolve } from './resolve.ts'

/** A call to decide. */
export interface DecideCall extends LimiterCall {
  /** Creates the mark that allows settling, if the cost is an estimate. */
  readonly markFor?: (id: string, entries: readonly ResolvedEntry[]) => SettlementMark
  /** A range to grant the most of that fits. The cost is that of its floor. */
  readonly fit?: Fit | undefined
}

/** A decision, with the entries and the reply that it was made from. */
export interface Outcome {
  readonly id: string
  readonly decision: Decision
  readonly entries: readonly ResolvedEntry[]
  readonly reply: StoreReply
}

/** The contribution to a limiter without extensions. */
const NO_CONTRIBUTION: CombinedContribution = {
  plan: undefined,
  settings: [],
  reads: [],
  failure: undefined,
}

/**
 * Decides in three stages: resolve, the store, conclude. Extensions contribute before the first and
 * listen after the last. A denial based on outdated records, which has charged nothing, is decided a
 * second time with the current ones; an allowed decision stands.
 *
 * @throws InputError When the subject lacks a dimension or the cost is malformed.
 */
export async function decide(runtime: LimiterRuntime, call: DecideCall): Promise<Outcome> {
  const { program, store, seam, events, extensions } = runtime
  const { subject, apply, fit } = call
  assertCost(call.cost, program.units)
  const extensionCall = startCall(call)
  let outcome: Outcome | undefined
  for (;;) {
    const digests = hasLongValue(subject, program.dimensions)
      ? await digestLongValues(subject, program.dimensions)
      : undefined
    const contribution = seam ? await seam.contribute(extensions, extensionCall) : NO_CONTRIBUTION

    // Resolve: select the policies that take part, each with its key and numbers.
    const resolvedPlan = resolvePlan(runtime, subject, contribution.plan)
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
        settings: contribution.settings,
      },
      events.problem,
    )

    // The store: check all entries, then charge all of them if all fit.
    const request = requestOf(runtime, call, resolved, contribution, extensionCall.startedAt)
    const { id, now, reads } = request
    const reply: StoreReply =
      resolved.length + reads.length > 0
        ? await store.check(request)
        : { source: 'store', now, verdicts: [], values: [] }

    // Conclude: turn the reply into a decision.
    const entries = fit?.kind.charge(fit, resolved, reply) ?? resolved
    const decision = conclude(entries, reply, skipped, resolvedPlan)

    const isRetry = outcome !== undefined
    // A degraded retry does not replace the first decision, which the store has made.
    if (!isRetry || !decision.degraded) outcome = { id, decision, entries, reply }
    const isOutdated = !decision.degraded && updateRecords(contribution.reads, reply.values)
    if (isRetry || decision.allowed || !isOutdated) break
  }
  if (apply) seam?.report(events, extensionCall, outcome as Outcome, call)
  return outcome as Outcome
}

/** Starts the time of a call. Extensions may move the start, from which a deadline counts. */
function startCall({ subject, waitUntil }: LimiterCall): ExtensionCall {
  const call = {
    subject,
    waitUntil,
    startedAt: systemClock(),
    pauseDeadline(ms: number) {
      if (ms > 0) call.startedAt = Math.min(call.startedAt + ms, systemClock())
    },
  }
  return call
}

function requestOf(
  { program, clock, clockIsInjected, seam }: LimiterRuntime,
  { apply, markFor, fit }: DecideCall,
  entries: readonly ResolvedEntry[],
  { reads, failure }: CombinedContribution,
  startedAt: number,
): StoreRequest {
  const id = requestId()
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
  records: readonly TrackedRecord[],
  values: readonly (string | undefined)[],
): boolean {
  return records.filter((record, index) => record.update(values[index])).length > 0
}
