import type { SkippedPolicy } from '../decision.ts'
import type { Entry, StoreReply, StoreRequest } from '../stores/store.ts'
import type { Choices } from './call.ts'
import type { Contribution, TrackedRecord } from './extensions.ts'
import type { DecideCall, Outcome } from './outcome.ts'
import type { LimiterRuntime } from './runtime.ts'
import { systemClock } from '../clock.ts'
import { assertCost } from '../cost.ts'
import { requestId } from '../internal/random-id.ts'
import { digestLongValues, hasLongValue } from '../subject.ts'
import { conclude } from './conclude.ts'
import { resolvePlan } from './plan.ts'
import { resolve, type EntryContext, type ResolvedEntry } from './resolve.ts'

/**
 * Decides at once. A decision based on outdated records that has charged nothing is made a second time with the current
 * ones.
 *
 * @throws InputError When the subject lacks a dimension or the cost is malformed.
 */
export async function decide(runtime: LimiterRuntime, call: DecideCall): Promise<Outcome> {
  const resolveNow = ((call.choices as ResolvingChoices)?.start ?? startResolving)(runtime, call)
  const first = await decideOnce(runtime, resolveNow())
  if (!first.isOutdated || first.reply.verdicts.some(({ charged }) => charged)) return first
  const second = await decideOnce(runtime, resolveNow())
  // The store has denied, so a degraded decision does not replace it: unless it knew no end of a period.
  return second.decision.degraded && first.isOutdated === true && !first.decision.allowed
    ? { ...first, unanswered: second }
    : second
}

/** Decides in three stages: resolve, the store, conclude. */
async function decideOnce(
  { store }: LimiterRuntime,
  question: Promise<Question>,
): Promise<Outcome> {
  const { request, conclude: answer } = await question
  const { now, entries, reads } = request
  return answer(
    entries.length + reads.length > 0
      ? await store.check(request)
      : { source: 'store', now, verdicts: [], values: [] },
  )
}

/** Choices as this room sees them. */
export interface ResolvingChoices extends Omit<Choices, '~types'> {
  /** As `startResolving`, for all of them. */
  readonly start: (runtime: LimiterRuntime, call: DecideCall) => () => Promise<Question>
}

/** A call as it is asked of the store. */
export interface Question {
  readonly request: StoreRequest
  /** Turns the reply into a decision, and gives each record its current value. Call it once. */
  readonly conclude: (reply: StoreReply) => Outcome | Promise<Outcome>
}

/** A single call as it is asked of the store. */
export interface CallQuestion extends Question {
  readonly request: StoreRequest & { readonly entries: readonly ResolvedEntry[] }
  readonly skipped: readonly SkippedPolicy[]
  readonly conclude: (reply: StoreReply) => Outcome
}

/**
 * Returns a function that resolves a call: it selects the policies that take part, each with its key and numbers. Extensions
 * contribute before.
 *
 * @throws InputError When the cost is malformed.
 */
export function startResolving(
  runtime: LimiterRuntime,
  call: DecideCall,
): (id?: string) => Promise<CallQuestion> {
  const { program, seam, events, extensions, clock, clockIsInjected } = runtime
  const { subject, cost, fit, apply, markFor, holdMs = 0 } = call
  assertCost(cost, program.units)
  const extensionCall = seam?.startCall(call)
  return async (id = call.id ?? requestId()) => {
    const start = extensionCall ?? { startedAt: systemClock() }
    const digests = hasLongValue(subject, program.dimensions)
      ? await digestLongValues(subject, program.dimensions)
      : undefined
    const {
      plan: contributed,
      settings,
      reads: records = [],
      failure,
    }: Contribution = (extensionCall && (await seam?.contribute(extensions, extensionCall))) ?? {}
    const resolvedPlan = resolvePlan(runtime, subject, contributed)
    const { plan, limits } = resolvedPlan
    const { route, model } = subject
    const { startedAt } = start
    // Reading the clock takes a while. It has moved on only if an extension waited.
    const now = seam || clockIsInjected ? clock() : startedAt
    const context = {
      subject,
      cost,
      limits: { plan: limits, route, model },
      plan,
      digests,
      settings,
      now,
      holdMs,
      report: events.problem,
    }
    const { entries: resolved, skipped } = resolve(program, context)
    const request = {
      policies: program.policies,
      entries: resolved,
      apply,
      now,
      clockIsInjected,
      startedAt,
      reads: records.map(({ field }) => field),
      id,
      mark: markFor?.(id, resolved),
      fit,
      failure,
    }
    return {
      request,
      skipped,
      conclude(reply) {
        const entries = fit?.kind.charge(fit, resolved, reply) ?? resolved
        const decision = conclude(entries, reply, skipped, resolvedPlan)
        const wasOutdated = !decision.degraded && updateRecords(reply.values, records)
        const isOutdated = learnTimes(entries, reply, context) ? 'ends' : wasOutdated
        return { id, call, extensionCall, decision, entries, reply, isOutdated }
      },
    }
  }
}

/** Gives each calendar the store's time. Returns true if one of them had computed its periods for another time. */
function learnTimes(
  entries: readonly Entry[],
  { verdicts, now }: StoreReply,
  context: EntryContext,
): boolean {
  const wereOutdated = entries.map((entry, index) =>
    entry.policy.calendar?.learn(entry, verdicts[index], now, context),
  )
  return wereOutdated.includes(true)
}

/** Gives each record its current value. Returns true if one of them was outdated. */
function updateRecords(
  values: readonly (string | undefined)[],
  records: readonly TrackedRecord[],
): boolean {
  const wereOutdated = records.map((record, index) => record.update(values[index]))
  return wereOutdated.includes(true)
}
