import type { Cost } from '../cost.ts'
import type { Decision, PlanSource } from '../decision.ts'
import type { PlanLimits } from '../plans/plans.ts'
import type { SettlementMark, StoreReply } from '../stores/store.ts'
import type { Prepared, TrackedRecord, WaitUntil } from './extensions.ts'
import type { ResolvedEntry, SettingsOf } from './resolve.ts'
import type { LimiterRuntime } from './runtime.ts'
import { systemClock } from '../clock.ts'
import { assertCost } from '../cost.ts'
import { randomId } from '../random-id.ts'
import { digestsOf, hasLongValue, type Subject } from '../subject.ts'
import { conclude } from './conclude.ts'
import { unknownPlan } from './problems.ts'
import { resolve } from './resolve.ts'

/** One call to a limiter. */
export interface LimiterCall {
  readonly subject: Subject
  readonly cost: Cost | undefined
  /** True to charge what fits. */
  readonly apply: boolean
  readonly waitUntil: WaitUntil | undefined
  /** Makes the mark that allows settling, if what is charged is an estimate. */
  readonly markFor?: (id: string, entries: readonly ResolvedEntry[]) => SettlementMark
}

/** A decision, with what it was made of. */
export interface Outcome {
  readonly id: string
  readonly decision: Decision
  readonly entries: readonly ResolvedEntry[]
  readonly reply: StoreReply
}

/** The limits of no plan. */
export const NO_PLAN: PlanLimits = Object.freeze(Object.create(null) as PlanLimits)

const NO_SETTINGS: readonly SettingsOf[] = []
const NO_READS: readonly TrackedRecord[] = []

/**
 * Decides: resolve, the store, conclude. What was denied by outdated records was charged nowhere, so it
 * is decided again; what was allowed stands.
 *
 * @throws InputError When the subject lacks a dimension or the cost is malformed.
 */
export async function decide(runtime: LimiterRuntime, call: LimiterCall): Promise<Outcome> {
  assertCost(call.cost, runtime.program.units)
  const timing = { startedAt: systemClock() }
  const first = await decideOnce(runtime, call, timing)
  let last = first.outcome
  if (first.isOutdated && !last.decision.allowed) {
    const { outcome } = await decideOnce(runtime, call, timing)
    if (!outcome.decision.degraded) last = outcome
  }
  if (call.apply) runtime.seam?.report(runtime.events, call.subject, last)
  return last
}

async function decideOnce(
  runtime: LimiterRuntime,
  call: LimiterCall,
  timing: { startedAt: number },
): Promise<{ outcome: Outcome; isOutdated: boolean }> {
  const { program, store, clock, clockIsInjected } = runtime
  const { subject, cost, apply, markFor } = call
  const digests = hasLongValue(subject, program.dimensions)
    ? await digestsOf(subject, program.dimensions)
    : undefined
  const preparing = prepare(runtime, call, timing)
  const prepared = preparing && (await preparing)
  const { plan, planSource, limits } = planFor(runtime, subject, prepared)
  const { entries, skipped } = resolve(program, {
    subject,
    cost,
    limits: { plan: limits, route: subject.route, model: subject.model },
    plan,
    digests,
    settings: prepared?.settings ?? NO_SETTINGS,
  })
  const records = prepared?.reads ?? NO_READS
  const now = clock()
  const id = requestId()
  const reply =
    entries.length + records.length === 0
      ? ({ source: 'store', now, verdicts: [], read: [] } satisfies StoreReply)
      : await store.check({
          policies: program.policies,
          entries,
          apply,
          now,
          clockIsInjected,
          startedAt: timing.startedAt,
          reads: records.map(({ field }) => field),
          id,
          mark: markFor?.(id, entries),
          failure: prepared?.failure,
        })
  const decision = conclude(entries, reply, { skipped, plan, planSource })
  let isOutdated = false
  if (!reply.degraded) {
    // Every one of them takes its value.
    for (const [index, record] of records.entries()) {
      isOutdated = record.update(reply.read[index]) || isOutdated
    }
  }
  return { outcome: { id, decision, entries, reply }, isOutdated }
}

/** Asks the extensions, if there are any. */
function prepare(
  { extensions, seam }: LimiterRuntime,
  { subject, waitUntil }: LimiterCall,
  timing: { startedAt: number },
): Promise<Prepared> | undefined {
  return seam?.prepare(extensions, {
    subject,
    waitUntil,
    get startedAt() {
      return timing.startedAt
    },
    pauseDeadline(ms) {
      if (ms > 0) timing.startedAt = Math.min(timing.startedAt + ms, systemClock())
    },
  })
}

function planFor(
  { plans, events }: LimiterRuntime,
  { plan: given }: Subject,
  prepared: Prepared | undefined,
): { plan: string | undefined; planSource: PlanSource | undefined; limits: PlanLimits } {
  if (plans === undefined) return { plan: undefined, planSource: undefined, limits: NO_PLAN }
  if (given !== undefined && given !== null) {
    const limits = plans.get(given)
    if (limits) return { plan: given, planSource: 'subject', limits }
    events.problem(unknownPlan(given))
  }
  const found = prepared?.plan
  const plan = found?.name ?? plans.defaultPlan
  return { plan, planSource: found?.source ?? 'default', limits: plans.get(plan) ?? NO_PLAN }
}

let isolate = ''
let count = 0

/** Identifies one request among those of all isolates: random bits of this one, and a number. */
function requestId(): string {
  // Not at module scope, where Workers may not draw random numbers.
  if (isolate === '') isolate = randomId().padStart(13, '0')
  count += 1
  return isolate + count.toString(36)
}
